a-named:
  test.show_notification:
    - text: '{{ saltenv }}'

a-dynamic:
  test.show_notification:
    - text: '{{ saltenv }}'

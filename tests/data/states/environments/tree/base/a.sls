{% from "lib.jinja" import origin %}
a-base:
  test.show_notification:
    - text: "{{ saltenv }} {{ sls }} {{ origin() }}"

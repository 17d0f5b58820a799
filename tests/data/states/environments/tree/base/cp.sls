{% set answers = [
  salt['cp.get_file_str']('salt://f.txt'),
  salt['cp.get_file_str']('salt://f.txt', 'dev'),
  salt['cp.get_file_str']('salt://f.txt?saltenv=dev'),
  salt['cp.list_master']('dev', 'pack'),
  salt['cp.list_master_dirs']('dev', 'pack'),
  'only' in salt['cp.list_states'](), 'only' in salt['cp.list_states']('dev'),
  salt['slsutil.file_exists']('only.sls'), salt['slsutil.file_exists']('only.sls', 'dev'),
  salt['slsutil.dir_exists']('pack'), salt['slsutil.dir_exists']('pack', saltenv='dev'),
  salt['state.sls_exists']('only'), salt['state.sls_exists']('only', saltenv='dev'),
] %}
cp:
  test.show_notification:
    - text: '{{ answers | tojson }}'

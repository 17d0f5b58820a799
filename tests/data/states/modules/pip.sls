pip-new:
  pip.installed:
    - name: demo
    - bin_env: /srv/venv
    - no_index: true
    - find_links: /srv/wheels
pip-known:
  pip.installed:
    - name: known>=1.0
    - bin_env: /srv/venv
pip-version:
  pip.installed:
    - name: Old_Name==2.0
    - bin_env: /srv/venv
    - no_index: true
    - find_links: /srv/wheels
pip-several:
  pip.installed:
    - pkgs: [known, extra]
    - bin_env: /srv/venv/bin/pip
    - no_index: true
    - find_links: /srv/wheels
pip-wheel:
  pip.installed:
    - name: /srv/wheels/filed-1.0-py3-none-any.whl
    - bin_env: /srv/venv
    - no_index: true
pip-requirements:
  pip.installed:
    - requirements: /srv/requirements.txt
    - bin_env: /srv/venv
    - no_index: true
    - find_links: /srv/wheels
pip-unknown:
  pip.installed:
    - name: nosuchpackage
    - bin_env: /srv/venv
    - no_index: true
pip-bad-version:
  pip.installed:
    - name: demo=1.0
    - bin_env: /srv/venv
pip-upgrade:
  pip.installed:
    - name: known
    - bin_env: /srv/venv
    - upgrade: true
    - no_index: true
    - find_links: /srv/wheels
pip-no-env:
  pip.installed:
    - name: demo
    - bin_env: /srv/no-venv
pip-bad-user:
  pip.installed:
    - name: demo
    - bin_env: /srv/venv
    - user: nosuchuser
pip-removed:
  pip.removed:
    - name: leaving
    - bin_env: /srv/venv
pip-removed-already:
  pip.removed:
    - name: neverthere
    - bin_env: /srv/venv
pip-removed-no-env:
  pip.removed:
    - name: demo
    - bin_env: /srv/no-venv
pip-uptodate:
  pip.uptodate:
    - bin_env: /srv/venv

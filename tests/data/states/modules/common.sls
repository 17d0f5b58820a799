group-new:
  group.present:
    - name: g1
    - gid: 4001
    - addusers: [daemon]
group-changed:
  group.present:
    - name: g2
    - gid: 4003
group-members:
  group.present:
    - name: g3
    - members: [daemon, bin]
group-system:
  group.present:
    - name: g4
    - system: true
group-same:
  group.present:
    - name: daemon
group-absent:
  group.absent:
    - name: g5
group-absent-already:
  group.absent:
    - name: g6
user-new:
  user.present:
    - name: u1
    - uid: 4001
    - gid: 4001
    - home: /srv/home/u1
    - shell: /bin/sh
    - fullname: User One
    - roomnumber: 12
    - groups: [adm]
    - optional_groups: [nosuchgroup]
    - password: $6$salt$xGlPuDZJ9vCY/xhUXHSnUyuO4nXGrZXj6mPYc2KpQDkYXUXxWvjzFPFjrVLUcdxbn5HMAR1hbyBBZSgMBd9ER.
user-changed:
  user.present:
    - name: u2
    - shell: /bin/dash
    - home: /srv/home/other
    - groups: [adm, mail]
    - fullname: Other
user-groups-kept:
  user.present:
    - name: u3
    - groups: [mail]
    - remove_groups: false
user-system:
  user.present:
    - name: u4
    - system: true
    - createhome: false
    - usergroup: true
user-expiring:
  user.present:
    - name: u5
    - mindays: 1
    - maxdays: 90
    - warndays: 5
    - inactdays: 3
    - empty_password: true
user-no-group:
  user.present:
    - name: u6
    - groups: [nosuchgroup]
user-absent:
  user.absent:
    - name: u7
    - purge: true
user-absent-already:
  user.absent:
    - name: u8
cron-new:
  cron.present:
    - name: echo new
    - user: root
    - minute: 5
    - hour: '*/2'
    - comment: a comment
cron-identified:
  cron.present:
    - name: echo changed
    - identifier: ID1
    - daymonth: 3
cron-same:
  cron.present:
    - name: echo same
    - minute: 1
cron-commented:
  cron.present:
    - name: echo off
    - commented: true
cron-special:
  cron.present:
    - name: echo special
    - special: '@hourly'
cron-absent:
  cron.absent:
    - name: echo gone
cron-absent-already:
  cron.absent:
    - name: echo nothere
cron-env:
  cron.env_present:
    - name: MAILTO
    - value: root@example.test
cron-env-absent:
  cron.env_absent:
    - name: OLD
cron-file:
  cron.file:
    - name: salt://crontab
    - user: bin
archive-tar:
  archive.extracted:
    - name: /srv/archive/tar
    - source: /srv/archive/one.tar.gz
    - user: bin
    - group: daemon
archive-options:
  archive.extracted:
    - name: /srv/archive/options
    - source: /srv/archive/one.tar.gz
    - options: --strip-components=1
    - enforce_toplevel: false
archive-zip:
  archive.extracted:
    - name: /srv/archive/zip
    - source: /srv/archive/one.zip
    - enforce_toplevel: false
archive-hash:
  archive.extracted:
    - name: /srv/archive/hash
    - source: /srv/archive/one.tar.gz
    - source_hash: sha256=0000000000000000000000000000000000000000000000000000000000000000
archive-if-missing:
  archive.extracted:
    - name: /srv/archive/ifmissing
    - source: /srv/archive/one.tar.gz
    - if_missing: /srv/archive/one.tar.gz
archive-no-top:
  archive.extracted:
    - name: /srv/archive/notop
    - source: /srv/archive/flat.tar
archive-missing:
  archive.extracted:
    - name: /srv/archive/missing
    - source: /srv/archive/missing.tar
git-new:
  git.latest:
    - name: /srv/git/origin
    - target: /srv/git/new
    - branch: main
git-updated:
  git.latest:
    - name: /srv/git/origin
    - target: /srv/git/old
    - rev: main
git-tag:
  git.latest:
    - name: /srv/git/origin
    - target: /srv/git/tag
    - rev: v1
git-unknown-rev:
  git.latest:
    - name: /srv/git/origin
    - target: /srv/git/unknown
    - rev: nosuchrev
git-no-origin:
  git.latest:
    - name: /srv/git/missing
    - target: /srv/git/none
git-not-empty:
  git.latest:
    - name: /srv/git/origin
    - target: /srv/git/full
cmd-run:
  cmd.run:
    - name: echo out; echo err >&2
cmd-fails:
  cmd.run:
    - name: echo bad; exit 3
cmd-success:
  cmd.run:
    - name: exit 3
    - success_retcodes: [3]
cmd-creates:
  cmd.run:
    - name: touch /srv/cmd/made
    - creates: /srv/cmd/made
cmd-unless:
  cmd.run:
    - name: echo never
    - unless: 'true'
cmd-env:
  cmd.run:
    - name: echo $ONE $TWO; pwd; id -un
    - env:
      - ONE: '1'
      - TWO: 2
    - cwd: /srv/cmd
    - runas: bin
cmd-no-cwd:
  cmd.run:
    - name: pwd
    - cwd: /srv/nosuchfolder
cmd-timeout:
  cmd.run:
    - name: sleep 5
    - timeout: 1
cmd-stateful:
  cmd.run:
    - name: echo; echo changed=yes comment="did it" more=1
    - stateful: true
cmd-hidden:
  cmd.run:
    - name: echo hidden
    - hide_output: true
cmd-wait:
  cmd.wait:
    - name: echo waited
    - watch:
      - cmd: cmd-run
cmd-wait-not:
  cmd.wait:
    - name: echo waited
cmd-script:
  cmd.script:
    - name: salt://script.sh
    - args: one 'two words'
    - cwd: /srv/cmd
cmd-script-template:
  cmd.script:
    - source: salt://script.jinja
    - template: jinja
    - context: {word: filled}
cmd-script-missing:
  cmd.script:
    - name: salt://nosuch.sh
pkg-same:
  pkg.installed:
    - refresh: false
    - name: cron
pkg-unknown:
  pkg.installed:
    - refresh: false
    - name: no-such-package
pkg-source:
  pkg.installed:
    - refresh: false
    - sources:
      - own: /srv/debs/own_1.0_all.deb
pkg-version:
  pkg.installed:
    - refresh: false
    - name: two
    - version: 9.9
pkg-several:
  pkg.installed:
    - refresh: false
    - pkgs: [cron, git, curl]
pkg-minimum:
  pkg.installed:
    - refresh: false
    - pkgs:
      - cron: '>=3.0'
pkg-held:
  pkg.installed:
    - refresh: false
    - name: unzip
    - hold: true
pkg-removed:
  pkg.removed:
    - name: two
pkg-removed-already:
  pkg.removed:
    - name: no-such-package
pkg-purged:
  pkg.purged:
    - pkgs: [three, no-such-package]
pkg-latest:
  pkg.latest:
    - name: xz-utils
    - refresh: false
pkgrepo-new:
  pkgrepo.managed:
    - name: deb http://deb.example.test/debian stable main
    - file: /etc/apt/sources.list.d/own.list
    - refresh: false
    - comments: [own comment]
pkgrepo-changed:
  pkgrepo.managed:
    - name: deb http://old.example.test/debian stable main contrib
    - file: /etc/apt/sources.list.d/old.list
    - refresh: false
pkgrepo-disabled:
  pkgrepo.managed:
    - name: deb http://off.example.test/debian stable main
    - file: /etc/apt/sources.list.d/off.list
    - disabled: true
    - refresh: false
pkgrepo-absent:
  pkgrepo.absent:
    - name: deb http://gone.example.test/debian stable main
    - refresh: false

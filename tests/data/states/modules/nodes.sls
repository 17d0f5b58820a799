node-pipe-new:
  file.mknod:
    - name: /srv/nodes/new/pipe
    - ntype: p
    - user: bin
    - group: daemon
    - mode: '0640'
node-character-new:
  file.mknod:
    - name: /srv/nodes/null
    - ntype: c
    - major: 1
    - minor: 3
    - mode: '0644'
node-block-new:
  file.mknod:
    - name: /srv/nodes/loop
    - ntype: b
    - major: 7
    - minor: 9
node-pipe-other-mode:
  file.mknod:
    - name: /srv/nodes/pipe
    - ntype: p
node-character-known:
  file.mknod:
    - name: /srv/nodes/zero
    - ntype: c
    - major: 1
    - minor: 5
    - mode: '0644'
node-other-numbers:
  file.mknod:
    - name: /srv/nodes/zero
    - ntype: c
    - major: 1
    - minor: 3
node-file:
  file.mknod:
    - name: /srv/nodes/file
    - ntype: b
node-folder:
  file.mknod:
    - name: /srv/nodes
    - ntype: p
    - mode: '0755'
node-unknown:
  file.mknod:
    - name: /srv/nodes/x
    - ntype: x
backups-named:
  file.retention_schedule:
    - name: /srv/backups/named
    - strptime_format: backup-%Y%m%d.tar
    - retain: {most_recent: 2, first_of_month: 2, first_of_week: 1}
backups-aged:
  file.retention_schedule:
    - name: /srv/backups/aged
    - retain: {first_of_day: 2, first_of_hour: 1, first_of_year: all}
backups-kept:
  file.retention_schedule:
    - name: /srv/backups/kept
    - retain: {most_recent: all}
backups-missing:
  file.retention_schedule:
    - name: /srv/backups/missing
    - retain: {most_recent: 1}
cached-tree:
  file.cached:
    - name: salt://one.patch
cached-local:
  file.cached:
    - name: /srv/nodes/file
cached-local-hash:
  file.cached:
    - name: /srv/nodes/file
    - source_hash: /srv/nodes/sums
cached-local-other-hash:
  file.cached:
    - name: /srv/nodes/file
    - source_hash: sha256=0000000000000000000000000000000000000000000000000000000000000000
cached-local-missing:
  file.cached:
    - name: /srv/nodes/missing
cached-unverified:
  file.cached:
    - name: http://127.0.0.1:9/file
not-cached-local:
  file.not_cached:
    - name: /srv/nodes/file
not-cached-already:
  file.not_cached:
    - name: salt://two.patch
archive-hash-file:
  archive.extracted:
    - name: /srv/archive/hashfile
    - source: /srv/archive/one.tar.gz
    - source_hash: /srv/archive/sums
archive-hash-file-other:
  archive.extracted:
    - name: /srv/archive/hashother
    - source: /srv/archive/one.zip
    - source_hash: /srv/archive/sums
pkg-downloaded-already:
  pkg.downloaded:
    - name: nginx-light
pkg-downloaded:
  pkg.downloaded:
    - name: fetched
pkg-downloaded-version:
  pkg.downloaded:
    - pkgs:
      - fetched: '1.0'
pkg-downloaded-unknown:
  pkg.downloaded:
    - name: no-such-package
pkg-downloaded-nothing:
  pkg.downloaded:
    - pkgs: []
pkg-group:
  pkg.group_installed:
    - name: Development Tools
pkg-patch:
  pkg.patch_installed:
    - name: patch
    - advisory_ids: [one]

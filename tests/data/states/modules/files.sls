tidied:
  file.tidied:
    - name: /srv/tidy/all
tidied-matching:
  file.tidied:
    - name: /srv/tidy/match
    - matches: ['.*\.log', 'old.*']
    - exclude: ['keep.*']
    - rmdirs: true
tidied-old:
  file.tidied:
    - name: /srv/tidy/age
    - age: 10
    - size: 100
    - time_comparison: mtime
    - age_size_logical_operator: and
tidied-size:
  file.tidied:
    - name: /srv/tidy/size
    - size: 1K
    - age_size_only: size
    - rmlinks: false
tidied-full-path:
  file.tidied:
    - name: /srv/tidy/full
    - matches: ['.*/sub/.*']
    - full_path_match: true
    - followlinks: true
tidied-missing:
  file.tidied:
    - name: /srv/tidy/missing
tidied-relative:
  file.tidied:
    - name: tidy
decoded:
  file.decode:
    - name: /srv/decode/new
    - encoded_data: |
        aGVsbG8gd29y
        bGQK
decoded-changed:
  file.decode:
    - name: /srv/decode/old
    - encoded_data: bmV3Cg==
    - checksum: sha256
decoded-known:
  file.decode:
    - name: /srv/decode/known
    - encoded_data: a25vd24K
decoded-nothing:
  file.decode:
    - name: /srv/decode/known
decoded-pillar-missing:
  file.decode:
    - name: /srv/decode/known
    - contents_pillar: missing:key
decoded-both:
  file.decode:
    - name: /srv/decode/known
    - encoded_data: a25vd24K
    - contents_pillar: missing:key
decoded-no-folder:
  file.decode:
    - name: /srv/decode/missing/file
    - encoded_data: a25vd24K
patched:
  file.patch:
    - name: /srv/patch/one
    - source: salt://one.patch
patched-template:
  file.patch:
    - name: /srv/patch/template
    - source: salt://template.patch
    - template: jinja
    - context: {word: new}
patched-already:
  file.patch:
    - name: /srv/patch/done
    - source: salt://one.patch
patched-folder:
  file.patch:
    - name: /srv/patch/folder
    - source: salt://folder.patch
    - strip: 1
patched-folder-options:
  file.patch:
    - name: /srv/patch/folder2
    - source: salt://folder.patch
    - options: '-p1 -F 0'
patched-not:
  file.patch:
    - name: /srv/patch/other
    - source: salt://one.patch
patched-not-rejected:
  file.patch:
    - name: /srv/patch/other
    - source: salt://one.patch
    - reject_file: /srv/patch/rejects
patched-missing:
  file.patch:
    - name: /srv/patch/missing
    - source: salt://one.patch
patched-relative:
  file.patch:
    - name: patch/one
    - source: salt://one.patch
patched-refused-option:
  file.patch:
    - name: /srv/patch/one
    - source: salt://one.patch
    - options: --output=/srv/x -N
patched-no-source:
  file.patch:
    - name: /srv/patch/one
    - source: salt://missing.patch
accumulated-first:
  file.accumulated:
    - name: lines
    - filename: /srv/accumulated
    - text: one
    - require_in:
      - file: accumulated-file
accumulated-second:
  file.accumulated:
    - name: lines
    - filename: /srv/accumulated
    - text: [two, one, three]
    - watch_in:
      - file: accumulated-file
accumulated-same:
  file.accumulated:
    - name: lines
    - filename: /srv/accumulated
    - text: [two]
    - require_in:
      - file: accumulated-file
accumulated-map:
  file.accumulated:
    - name: maps
    - filename: /srv/accumulated
    - text: {a: 1, b: [2, 3]}
    - require_in:
      - file: accumulated-file
accumulated-orphan:
  file.accumulated:
    - name: orphan
    - filename: /srv/accumulated
    - text: orphan
accumulated-required:
  file.accumulated:
    - name: required
    - filename: /srv/accumulated
    - text: required
accumulated-file:
  file.managed:
    - name: /srv/accumulated
    - source: salt://accumulated.jinja
    - template: jinja
accumulated-requiring:
  file.managed:
    - name: /srv/differs/accumulated2
    - contents: x
    - require:
      - file: accumulated-required
accumulated-block-text:
  file.accumulated:
    - name: block
    - filename: /srv/block
    - text: [b1, b2]
    - require_in:
      - file: accumulated-block
accumulated-block:
  file.blockreplace:
    - name: /srv/block
    - marker_start: '# begin'
    - marker_end: '# end'
    - content: head

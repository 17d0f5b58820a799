{% set out = pillar.out %}
managed:
  file.managed:
    - name: {{ out }}/managed
    - source: salt://file
    - signature: salt://file.sig
    - gnupghome: {{ pillar.home }}
managed-changed:
  file.managed:
    - name: {{ out }}/refused
    - source: salt://changed
    - signature: salt://file.sig
    - gnupghome: {{ pillar.home }}
managed-inline:
  file.managed:
    - name: {{ out }}/inline
    - source: salt://clear.asc
    - signature: true
    - gnupghome: {{ pillar.home }}
managed-inline-missing:
  file.managed:
    - name: {{ out }}/unsigned
    - source: salt://file
    - signature: true
    - gnupghome: {{ pillar.home }}
managed-missing:
  file.managed:
    - name: {{ out }}/missing
    - source: salt://file
    - signature: salt://missing.sig
    - gnupghome: {{ pillar.home }}
managed-any:
  file.managed:
    - name: {{ out }}/any
    - source: salt://file
    - signature: salt://file.sig
    - signed_by_any: [0000000000000000000000000000000000000000, C6943B60682C2D9E88F8062F41333FAFAAED0222]
    - gnupghome: {{ pillar.home }}
managed-any-other:
  file.managed:
    - name: {{ out }}/any2
    - source: salt://file
    - signature: salt://file.sig
    - signed_by_any: ['0000000000000000000000000000000000000000', '*']
    - gnupghome: {{ pillar.home }}
managed-all:
  file.managed:
    - name: {{ out }}/all
    - source: salt://file
    - signature: salt://file.sig
    - signed_by_all: C6943B60682C2D9E88F8062F41333FAFAAED0222
    - gnupghome: {{ pillar.home }}
managed-all-other:
  file.managed:
    - name: {{ out }}/all2
    - source: salt://file
    - signature: salt://file.sig
    - signed_by_all: [C6943B60682C2D9E88F8062F41333FAFAAED0222, ABCDEF0123456789ABCDEF0123456789ABCDEF01]
    - gnupghome: {{ pillar.home }}
managed-no-keys:
  file.managed:
    - name: {{ out }}/nokeys
    - source: salt://file
    - signature: salt://file.sig
    - gnupghome: {{ pillar.home }}/empty
managed-keyring:
  file.managed:
    - name: {{ out }}/keyring
    - source: salt://file
    - signature: salt://file.sig
    - gnupghome: {{ pillar.home }}/empty
    - keyring: {{ pillar.home }}/own.gpg
managed-existing:
  file.managed:
    - name: {{ out }}/existing
    - source: salt://file
    - signature: salt://changed
    - gnupghome: {{ pillar.home }}
cached:
  file.cached:
    - name: {{ out }}/file
    - source_hash: salt://sums
    - source_hash_sig: salt://sums.sig
    - gnupghome: {{ pillar.home }}
cached-changed:
  file.cached:
    - name: {{ out }}/changed
    - source_hash: salt://other_sums
    - source_hash_sig: salt://sums.sig
    - gnupghome: {{ pillar.home }}
unpacked:
  archive.extracted:
    - name: {{ out }}/unpacked
    - source: {{ out }}/archive.tar
    - enforce_toplevel: false
    - signature: salt://archive.tar.sig
    - gnupghome: {{ pillar.home }}
unpacked-changed:
  archive.extracted:
    - name: {{ out }}/unpacked2
    - source: {{ out }}/other.tar
    - enforce_toplevel: false
    - signature: salt://file.sig
    - gnupghome: {{ pillar.home }}
unpacked-hash:
  archive.extracted:
    - name: {{ out }}/unpacked3
    - source: {{ out }}/archive.tar
    - enforce_toplevel: false
    - source_hash: salt://sums
    - source_hash_sig: salt://sums.sig
    - gnupghome: {{ pillar.home }}
flags:
  file.managed:
    - name: {{ out }}/flags
    - contents: x
    - attrs: A
flags-changed:
  file.managed:
    - name: {{ out }}/flags2
    - contents: x
    - attrs: Ai
flags-known:
  file.managed:
    - name: {{ out }}/flags3
    - contents: x
    - attrs: A

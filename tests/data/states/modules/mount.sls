mount-new:
  mount.mounted:
    - name: /srv/mount/new
    - device: tmpfs
    - fstype: tmpfs
    - opts: [size=1m, mode=700]
    - mkmnt: true
mount-no-folder:
  mount.mounted:
    - name: /srv/mount/missing
    - device: tmpfs
    - fstype: tmpfs
mount-created-only:
  mount.mounted:
    - name: /srv/mount/created
    - device: tmpfs
    - fstype: tmpfs
    - mount: false
    - mkmnt: true
    - persist: false
mount-neither:
  mount.mounted:
    - name: /srv/mount/neither
    - device: tmpfs
    - fstype: tmpfs
    - mount: false
    - persist: false
mount-fstab-only:
  mount.mounted:
    - name: /srv/mount/folder
    - device: /dev/none1
    - fstype: ext4
    - mount: false
    - dump: 1
    - pass_num: 2
mount-not-persistent:
  mount.mounted:
    - name: /srv/mount/own/
    - device: own
    - fstype: tmpfs
    - persist: false
mount-bind:
  mount.mounted:
    - name: /srv/mount/bound
    - device: /srv/mount/folder
    - fstype: none
    - opts: bind
    - mkmnt: true
mount-remounted:
  mount.mounted:
    - name: /srv/mount/old
    - device: tmpfs
    - fstype: tmpfs
    - opts: [noexec, nosuid]
mount-entry-changed:
  mount.mounted:
    - name: /srv/mount/entry
    - device: tmpfs
    - fstype: tmpfs
    - opts: nosuid
    - pass_num: 1
mount-other-device:
  mount.mounted:
    - name: /srv/mount/other
    - device: wanted
    - fstype: tmpfs
    - persist: false
mount-device-regex:
  mount.mounted:
    - name: /srv/mount/regex
    - device: wanted
    - fstype: tmpfs
    - device_name_regex: ["pres.*"]
    - persist: false
mount-hidden:
  mount.mounted:
    - name: /srv/mount/regex
    - device: present
    - fstype: tmpfs
    - opts: [hidden, comment=x, secret=1]
    - hidden_opts: hidden
    - extra_mount_invisible_keys: [secret]
    - persist: false
mount-unknown-type:
  mount.mounted:
    - name: /srv/mount/folder
    - device: tmpfs
    - fstype: nosuchfs
mount-nfs:
  mount.mounted:
    - name: /srv/mount/folder
    - device: 127.0.0.1:/export
    - fstype: nfs
    - persist: false
mount-no-fstab:
  mount.mounted:
    - name: /srv/mount/regex
    - device: present
    - fstype: tmpfs
    - config: /etc/no-fstab
mount-watching:
  mount.mounted:
    - name: /srv/mount/regex
    - device: present
    - fstype: tmpfs
    - persist: false
    - watch:
      - test: mount-change
mount-change:
  test.succeed_with_changes: []
mount-no-device:
  mount.mounted:
    - name: /srv/mount/folder
    - device: ''
    - fstype: tmpfs
mount-gone:
  mount.unmounted:
    - name: /srv/mount/gone
    - persist: true
mount-gone-device:
  mount.unmounted:
    - name: /srv/mount/gone2
    - device: /dev/other
    - persist: true
mount-gone-already:
  mount.unmounted:
    - name: /srv/mount/folder2
mount-swap:
  mount.swap:
    - name: /srv/mount/swap
mount-swap-kept:
  mount.swap:
    - name: /srv/mount/swap2
    - persist: false
fstab-new:
  mount.fstab_present:
    - name: /dev/none2
    - fs_file: /srv/mount/none2/
    - fs_vfstype: ext4
    - fs_mntops: [noatime, ro]
    - fs_passno: 2
    - mount: false
fstab-mounted:
  mount.fstab_present:
    - name: fresh
    - fs_file: /srv/mount/fresh
    - fs_vfstype: tmpfs
fstab-unmountable:
  mount.fstab_present:
    - name: /dev/none3
    - fs_file: /srv/mount/folder3
    - fs_vfstype: ext4
fstab-changed:
  mount.fstab_present:
    - name: /dev/none4
    - fs_file: /srv/mount/folder4
    - fs_vfstype: ext4
    - fs_mntops: noatime
fstab-kept:
  mount.fstab_present:
    - name: /dev/none5
    - fs_file: /srv/mount/folder5
    - fs_vfstype: xfs
    - not_change: true
fstab-matched:
  mount.fstab_present:
    - name: /dev/none7
    - fs_file: /srv/mount/folder6
    - fs_vfstype: xfs
    - match_on: [name]
fstab-known:
  mount.fstab_present:
    - name: /dev/none5
    - fs_file: /srv/mount/folder5
    - fs_vfstype: ext4
    - fs_mntops: [rw, noatime]
fstab-no-file:
  mount.fstab_present:
    - name: /dev/none5
    - fs_file: /srv/mount/folder5
    - fs_vfstype: ext4
    - config: /etc/no-fstab
fstab-absent:
  mount.fstab_absent:
    - name: /dev/none8
    - fs_file: /srv/mount/folder8
fstab-absent-already:
  mount.fstab_absent:
    - name: /dev/none9
    - fs_file: /srv/mount/folder9

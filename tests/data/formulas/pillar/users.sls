# The pillar for the formula `users` of tests/apply_formulas.sh. Unlike the formula's example, all of it can be applied: keys are
# keys, and members of groups exist.
{% set key = 'AAAAC3NzaC1lZDI1NTE5AAAAIM+Bjnq9M+X/bOBgi5TGw6cFFeh0bVxR9J2iMDjw0wVN' %}
{% set other = 'AAAAC3NzaC1lZDI1NTE5AAAAICpNmB3M77WRUaVEPCIJfuMOfJe4ZDTI65lUGo92p5yD' %}
users-formula:
  lookup: {root_group: root}
groups:
  crew: {state: present, gid: 1500, system: false}
  helpers: {gid: 4242, addusers: [root, daemon], delusers: [games]}
  ssl-cert: {system: true, members: [www-data, daemon]}
  gone: {absent: true}
ssh_keys:
  other: {privkey: private text, pubkey: ssh-ed25519 {{ other }} pillar}
users:
  plain: {fullname: A Plain User}
  full:
    fullname: A Full User
    password: $6$salt$xGlPuDZJ9vCY/xhUXHSnUyuO4nXGrZXj6mPYc2KpQDkYXUXxWvjzFPFjrVLUcdxbn5HMAR1hbyBBZSgMBd9ER.
    enforce_password: true
    home: /custom/full
    homedir_owner: full
    homedir_group: main
    user_dir_mode: 750
    roomnumber: A-1
    workphone: '555-5555'
    homephone: '555-5551'
    expire: 30000
    uid: 1001
    shell: /bin/bash
    sudouser: true
    sudo_rules: ['ALL=(root) /usr/bin/find', 'ALL=(daemon) NOPASSWD:ALL']
    sudo_defaults: ['!requiretty']
    polkitadmin: true
    prime_group: {name: main, gid: 1501}
    groups: [users, crew]
    optional_groups: [absent_group]
    ssh_key_type: ed25519
    ssh_keys: {privkey: private text, pubkey: ssh-ed25519 {{ key }} inline, extra: more private text, extra.pub: ssh-ed25519 {{ key }} extra}
    ssh_keys_pillar: {other: ssh_keys}
    ssh_auth: [ssh-ed25519 {{ key }} first]
    ssh_auth.absent: [ssh-ed25519 {{ other }} gone]
    ssh_known_hosts:
      example.test: {key: {{ key }}, enc: ssh-ed25519, hash_known_hosts: false}
    ssh_known_hosts.absent: [other.test]
    ssh_config:
      all: {hostname: '*', options: [StrictHostKeyChecking yes]}
    gitconfig: {user.name: A Full User, 'url.https://.insteadOf': 'git://'}
    gitconfig.absent: [push.default]
    google_2fa: false
  leaving: {absent: true, purge: true, force: true}
absent_users: [nobody_here]

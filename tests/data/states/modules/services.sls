service-started:
  service.running:
    - name: sv-stopped
service-started-enabled:
  service.running:
    - name: sv-off
    - enable: true
service-running:
  service.running:
    - name: sv-running
service-running-enabled:
  service.running:
    - name: sv-running-b
    - enable: true
service-running-disabled:
  service.running:
    - name: sv-running-c
    - enable: false
service-broken:
  service.running:
    - name: sv-broken
service-unknown:
  service.running:
    - name: sv-unknown
service-delayed:
  service.running:
    - name: sv-delayed
    - init_delay: 1
service-dead:
  service.dead:
    - name: sv-dead
service-dead-disabled:
  service.dead:
    - name: sv-dead-b
    - enable: false
service-dead-already:
  service.dead:
    - name: sv-dead-c
service-dead-enabled:
  service.dead:
    - name: sv-dead-d
    - enable: true
service-dead-unknown:
  service.dead:
    - name: sv-unknown
service-stuck:
  service.dead:
    - name: sv-stuck
service-enabled:
  service.enabled:
    - name: sv-enabled
service-enabled-already:
  service.enabled:
    - name: sv-enabled-b
service-enabled-unknown:
  service.enabled:
    - name: sv-unknown
service-disabled:
  service.disabled:
    - name: sv-disabled
service-disabled-already:
  service.disabled:
    - name: sv-disabled-b
service-disabled-unknown:
  service.disabled:
    - name: sv-unknown
service-masked:
  service.masked:
    - name: sv-masked
service-unmasked:
  service.unmasked:
    - name: sv-masked
service-restarted:
  service.running:
    - name: sv-watching
    - watch:
      - test: mount-change
service-reloaded:
  service.running:
    - name: sv-watching-b
    - reload: true
    - watch:
      - test: mount-change
service-stopped-by-watch:
  service.dead:
    - name: sv-watching-c
    - watch:
      - test: mount-change
service-started-watching:
  service.running:
    - name: sv-watching-d
    - watch:
      - test: mount-change

ini-new:
  ini.options_present:
    - name: /srv/ini/new.ini
    - sections:
        main:
          port: 80
          host: example.test
          enabled: true
        empty: {}
ini-edited:
  ini.options_present:
    - name: /srv/ini/app.ini
    - sections:
        top: changed
        first:
          key: new
          kept: same
          added: 1.5
        third:
          own: value
ini-strict:
  ini.options_present:
    - name: /srv/ini/strict.ini
    - strict: true
    - sections:
        first:
          key: value
ini-separator:
  ini.options_present:
    - name: /srv/ini/colon.ini
    - separator: ':'
    - sections:
        one:
          a: 1
          b: 2
ini-no-spaces:
  ini.options_present:
    - name: /srv/ini/tight.ini
    - no_spaces: true
    - sections:
        one:
          a: 1
          b: 3
ini-uncommented:
  ini.options_present:
    - name: /srv/ini/commented.ini
    - sections:
        one:
          port: 81
ini-known:
  ini.options_present:
    - name: /srv/ini/known.ini
    - sections:
        one:
          a: 1
ini-top-only:
  ini.options_present:
    - name: /srv/ini/top.ini
    - sections:
        a: 1
        b: 2
ini-nothing:
  ini.options_present:
    - name: /srv/ini/known.ini
ini-no-folder:
  ini.options_present:
    - name: /srv/no-folder/app.ini
    - sections:
        one:
          a: 1
ini-options-absent:
  ini.options_absent:
    - name: /srv/ini/absent.ini
    - sections:
        one: [a, missing]
        two: [missing]
        none: [x]
ini-option-top-absent:
  ini.options_absent:
    - name: /srv/differs/absent2.ini
    - sections:
        top: gone
ini-options-absent-no-file:
  ini.options_absent:
    - name: /srv/ini/missing.ini
    - sections:
        one: [a]
ini-sections-present:
  ini.sections_present:
    - name: /srv/differs/sections.ini
    - sections: [one, two]
ini-sections-absent:
  ini.sections_absent:
    - name: /srv/ini/sections2.ini
    - sections: [one, missing]
ini-sections-absent-already:
  ini.sections_absent:
    - name: /srv/ini/sections2.ini
    - sections: [missing]

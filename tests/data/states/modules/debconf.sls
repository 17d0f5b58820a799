debconf-new:
  debconf.set:
    - name: demo
    - data:
        demo/text: {type: string, value: some words}
        demo/choice: {type: boolean, value: true}
        demo/secret: {type: password, value: hunter2}
        demo/number: {type: string, value: 25}
debconf-known:
  debconf.set:
    - name: known
    - data:
        known/text: {type: string, value: old}
debconf-partly:
  debconf.set:
    - name: partly
    - data:
        partly/one: {type: string, value: 'one'}
        partly/two: {type: select, value: two}
debconf-file:
  debconf.set_file:
    - source: salt://selections.txt
debconf-template:
  debconf.set_file:
    - source: salt://selections.jinja
    - template: jinja
    - context: {word: filled}
debconf-bad-context:
  debconf.set_file:
    - source: salt://selections.jinja
    - template: jinja
    - context: [word]
debconf-missing-file:
  debconf.set_file:
    - source: salt://missing.txt

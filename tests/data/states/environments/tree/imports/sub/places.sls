{% set x = 5 %}
{% from 'lib.jinja' import y, file, folder, dots, name, grain, called %}
{% from 'sub/lib.jinja' import y as y2, file as file2, folder as folder2, dots as dots2, called as called2 with context %}
{% from 'sub/mid.jinja' import before, after, folder as folder3, inner %}
{% from './lib.jinja' import y as y4, file as file4, folder as folder4, dots as dots4 %}
{% import 'sub/lib.jinja' as module %}
{% import_yaml 'sub/data.yaml' as plain %}
{% import_yaml 'sub/data.yaml' as shared with context %}
{% set text %}{% include 'sub/shared.jinja' %}{% endset %}
places:
  test.nop:
    - outside: {{ [y, file, folder, dots, name, grain, called()]|json }}
    - context: {{ [y2, file2, folder2, dots2, called2()]|json }}
    - nested: {{ [before, after, folder3, inner]|json }}
    - relative: {{ [y4, file4, folder4, dots4]|json }}
    - module: {{ [module.y, module.file, module.folder, module.called()]|json }}
    - plain: {{ plain|json }}
    - shared: {{ shared|json }}
    - text: {{ text|trim }}
    - own: {{ [tplfile, tpldir, tpldot, sls, slspath]|json }}
    - root: {{ tplroot is defined }}
    - bare: {% include 'sub/shared.jinja' without context %}

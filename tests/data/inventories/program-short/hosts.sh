#!/bin/sh
cat <<'END'
{"_meta": {"hostvars": {}}, "solo": {"ansible_host": "192.0.2.1", "x": 1}, "all": {"children": ["g", "ungrouped"], "vars": {"top": 1}},
 "g": {"hosts": ["h1"]}, "ungrouped": {"hosts": ["u1"]}}
END

#!/bin/sh
[ "$1" = --list ] || exit 1
cat <<'END'
{"_meta": {"hostvars": {"moocow.example.com": {"asdf": 1234}, "llama.example.com": {"asdf": 5678, "no": "no"},
  "stranger": {"x": 1}}},
 "databases": {"hosts": ["host1.example.com", "host2.example.com"], "vars": {"a": true}},
 "webservers": ["host2.example.com", "moocow.example.com", "llama.example.com"],
 "atlanta": {"children": ["databases", "later"], "vars": {"b": false}},
 "later": {"hosts": ["w[1:2]"]}}
END

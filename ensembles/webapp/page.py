"""Prints the page of the site: `page.py TITLE APP_URL`."""

import html
import json
import sys

title, app_url = sys.argv[1:]
print(f"""<!doctype html>
<meta charset="utf-8">
<title>{html.escape(title)}</title>
<h1>{html.escape(title)}</h1>
<p>You are visitor <b id="visits">…</b>, says <code>{html.escape(app_url)}</code>.</p>
<script type="module">
  const answer = await fetch({json.dumps(app_url)});
  document.getElementById("visits").textContent = (await answer.json()).visits;
</script>""")

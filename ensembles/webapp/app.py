"""Answers each request with the number of requests so far: `app.py PORT`."""

import http.server
import json
import sys


class Counter(http.server.BaseHTTPRequestHandler):
    count = 0

    def do_GET(self):
        Counter.count += 1
        body = json.dumps({"visits": Counter.count}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        # The page comes from another port, which browsers take as another origin.
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Counter).serve_forever()

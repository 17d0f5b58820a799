v: plain

echo "$1 $2" >> world
echo "$1 $2 $3"
if [ -e fatal ] && [ "$1 $2" = "configure app" ]; then rm fatal; kill -9 $PPID; sleep 1; fi

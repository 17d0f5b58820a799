"""Deploys an app."""
from fabric.api import *

open("executed", "w").close()

env.hosts = ["127.0.0.1:PORT", "127.0.0.2:PORT"]
env.roledefs = {"web": ["127.0.0.1:PORT", "127.0.0.2:PORT"], "db": ["127.0.0.2:PORT"]}
env.release = "1.0"
ROOT = "/tmp"


@task
def hello(name="world"):
    """Says hello."""
    r = run("echo hello %s with %s" % (name, env.release))
    if r.succeeded and "hello" in r:
        puts("said " + r)
    else:
        abort("no")


@task
@roles("db")
def migrate():
    with cd(ROOT), prefix("export A=1"):
        run("echo $A in $(pwd)")
        with settings(hide("stdout"), warn_only=True):
            out = run("exit {0}".format(3))
        if out.failed:
            run("echo failed with %d" % out.return_code)
        for word in ["x", "y"]:
            run("echo " + word)


@task
@runs_once
def build():
    local("echo built")


@task(default=True)
@runs_once
def deploy():
    execute(build)
    execute(hello, "ann")
    execute(migrate)
    helper("z")


def helper(word):
    run("echo helper {}".format(word))


@task
def watch():
    while True:
        run("uptime")

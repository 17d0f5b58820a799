echo script of dev

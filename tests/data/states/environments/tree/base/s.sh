echo script of base

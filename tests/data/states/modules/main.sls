include: [basics, mount, ini, known_hosts, debconf, files, network, pip, common, services, nodes]

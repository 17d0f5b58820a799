//! The state modules of Salt that this program lacks, so that a message can tell them from spelling mistakes.

/// The names, sorted, without those of clouds, appliances and other operating systems.
const MISSING_MODULES: &str = "acl acme alias ansible apache apache_conf apache_module \
    apache_site apache_config aptpkg artifactory at augeas beacon blockdev bower btrfs buildout \
    cabal ceph chef cloud composer consul cryptdev csf ddns disk docker docker_container \
    docker_image docker_network docker_volume elasticsearch elasticsearch_index \
    elasticsearch_index_template eselect etcd ethtool event firewall firewalld gem github \
    glusterfs gnomedesktop gpg grafana grafana4_dashboard grafana4_datasource grafana4_org \
    grafana4_user grafana_dashboard grafana_datasource grains helm hg highstate_doc http icinga2 \
    incron influxdb_database influxdb_user ipmi ipset iptables jenkins kernelpkg keyboard \
    keystore kubernetes layman ldap logrotate loop lvm lvs_server lvs_service lxc lxd \
    lxd_container lxd_image lxd_profile makeconf mdadm memcached modjk monit mongodb_database \
    mongodb_user mysql_database mysql_grants mysql_query mysql_user netconfig nfs_export nftables \
    npm ntp openvswitch_bridge openvswitch_db openvswitch_port pcs pdbedit pecl pkgbuild pkgng \
    portage_config ports postgres_cluster postgres_database postgres_extension postgres_group \
    postgres_initdb postgres_language postgres_privileges postgres_schema postgres_tablespace \
    postgres_user process pyenv quota rabbitmq_cluster rabbitmq_plugin rabbitmq_policy \
    rabbitmq_upstream rabbitmq_user rabbitmq_vhost raid rbenv redis rsync rvm salt saltutil \
    schedule selinux slack smtp snapper splunk sqlite3 status sudo supervisord svn \
    sysfs syslog_ng telemetry tls tomcat trafficserver tuned ufw uptime vagrant vault virt \
    virtualenv webutil wordpress x509 xml xmpp zabbix_host zabbix_hostgroup zabbix_template \
    zabbix_user zabbix_usergroup zcbuildout zfs zk_concurrency zookeeper zpool";

/// Returns true if Salt has a state module of this name.
pub(super) fn is_module_of_salt(name: &str) -> bool {
    MISSING_MODULES
        .split_whitespace()
        .any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::states::MODULES;

    #[test]
    fn no_module_of_this_program_is_missing() {
        for module in MODULES {
            assert!(!is_module_of_salt(module.name), "{}", module.name);
        }
    }
}

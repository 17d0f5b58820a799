//! The names of OpenSSH's options, to tell ignored options from unknown ones.

/// The options that are not evaluated here, in lower case and sorted, including those of older
/// versions.
const KNOWN_KEYWORDS: &[&str] = &[
    "addkeystoagent",
    "afstokenpassing",
    "canonicalizepermittedcnames",
    "casignaturealgorithms",
    "channeltimeout",
    "checkhostip",
    "cipher",
    "clearallforwardings",
    "compression",
    "compressionlevel",
    "controlmaster",
    "controlpath",
    "controlpersist",
    "dynamicforward",
    "enableescapecommandline",
    "enablesshkeysign",
    "escapechar",
    "exitonforwardfailure",
    "fallbacktorsh",
    "fingerprinthash",
    "forkafterauthentication",
    "forwardx11",
    "forwardx11timeout",
    "forwardx11trusted",
    "gatewayports",
    "globalknownhostsfile2",
    "gssapiauthentication",
    "gssapiclientidentity",
    "gssapidelegatecredentials",
    "gssapikexalgorithms",
    "gssapikeyexchange",
    "gssapirenewalforcesrekey",
    "gssapiserveridentity",
    "gssapitrustdns",
    "hashknownhosts",
    "hostbasedacceptedalgorithms",
    "hostbasedauthentication",
    "hostbasedkeytypes",
    "identityfile2",
    "ignoreunknown",
    "ipqos",
    "kbdinteractivedevices",
    "keepalive",
    "kerberosauthentication",
    "kerberostgtpassing",
    "localcommand",
    "localforward",
    "loglevel",
    "logverbose",
    "mptcp",
    "nohostauthenticationforlocalhost",
    "obscurekeystroketiming",
    "permitlocalcommand",
    "permitremoteopen",
    "pkcs11provider",
    "protocol",
    "protocolkeepalives",
    "proxyusefdpass",
    "refuseconnection",
    "rekeylimit",
    "remotecommand",
    "remoteforward",
    "requesttty",
    "requiredrsasize",
    "revokedhostkeys",
    "rhostsauthentication",
    "rhostsrsaauthentication",
    "rsaauthentication",
    "securitykeyprovider",
    "sessiontype",
    "setuptimeout",
    "smartcarddevice",
    "stdinnull",
    "streamlocalbindmask",
    "streamlocalbindunlink",
    "syslogfacility",
    "tcpkeepalive",
    "tunnel",
    "tunneldevice",
    "updatehostkeys",
    "usekeychain",
    "useprivilegedport",
    "userknownhostsfile2",
    "useroaming",
    "usersh",
    "verifyhostkeydns",
    "versionaddendum",
    "visualhostkey",
    "warnweakcrypto",
    "xauthlocation",
];

/// Whether OpenSSH has this option, given in lower case, although it is not evaluated here.
pub(super) fn is_known(keyword: &str) -> bool {
    KNOWN_KEYWORDS.binary_search(&keyword).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted_for_the_search() {
        assert!(KNOWN_KEYWORDS.is_sorted());
        assert!(is_known("xauthlocation") && !is_known("prot"));
    }
}

//! The variables of each connection type: those that the properties state, and those of the shell.

use super::{deployed, printing, project};

/// The types with properties, and the variables that a command then has.
const PROVIDERS: &[(&str, &str, &str)] = &[
    (
        "unfurl.relationships.ConnectsTo.AWSAccount",
        "AWS_DEFAULT_REGION: r, AWS_ACCESS_KEY_ID: i, AWS_PROFILE: p, AWS_SHARED_CREDENTIALS_FILE: s, AWS_CONFIG_FILE: c, region: other, access_key: unused",
        "AWS_ACCESS_KEY_ID=i AWS_CONFIG_FILE=c AWS_DEFAULT_REGION=r AWS_PROFILE=p AWS_SHARED_CREDENTIALS_FILE=s",
    ),
    (
        "unfurl.relationships.ConnectsTo.GoogleCloudProject",
        "CLOUDSDK_CORE_PROJECT: p, CLOUDSDK_COMPUTE_REGION: r, CLOUDSDK_COMPUTE_ZONE: z, GOOGLE_APPLICATION_CREDENTIALS: c, GOOGLE_OAUTH_ACCESS_TOKEN: t, scopes: [a]",
        "CLOUDSDK_COMPUTE_REGION=r CLOUDSDK_COMPUTE_ZONE=z CLOUDSDK_CORE_PROJECT=p GCP_AUTH_KIND=serviceaccount GOOGLE_APPLICATION_CREDENTIALS=c GOOGLE_OAUTH_ACCESS_TOKEN=t",
    ),
    (
        "unfurl.relationships.ConnectsTo.DigitalOcean",
        "SPACES_ACCESS_KEY_ID: i, default_region: ams3",
        "SPACES_ACCESS_KEY_ID=i",
    ),
    (
        "unfurl.relationships.ConnectsTo.Azure",
        "AZURE_CLIENT_ID: c, AZURE_TENANT: t, AZURE_SUBSCRIPTION_ID: s, AZURE_AD_USER: u, AZURE_ADFS_AUTHORITY_URL: a, AZURE_STORAGE_ACCOUNT: sa",
        "ARM_CLIENT_ID=c ARM_SUBSCRIPTION_ID=s ARM_TENANT_ID=t AZURE_ADFS_AUTHORITY_URL=a AZURE_AD_USER=u AZURE_CLIENT_ID=c AZURE_STORAGE_ACCOUNT=sa AZURE_SUBSCRIPTION_ID=s AZURE_TENANT=t",
    ),
    ("unfurl.relationships.ConnectsTo.Packet", "project: p", ""),
    ("unfurl.relationships.ConnectsTo.OpenStack", "", ""),
    ("unfurl.relationships.ConnectsTo.Rackspace", "", ""),
    (
        "unfurl.relationships.ConnectsTo.K8sCluster",
        "KUBECONFIG: k, context: c, name: n, insecure: true, api_server: 'https://h', namespace: ns",
        "KUBECONFIG=k KUBE_CONFIG_PATH=k KUBE_CTX=c KUBE_CTX_CLUSTER=n KUBE_HOST=https://h KUBE_INSECURE=true",
    ),
];

const PATTERN: &str = "^(AWS|CLOUDSDK|GCP|GOOGLE|DIGITAL|SPACES|ARM|AZURE|PACKET|KUBE|OS|CLOUD)_?";

#[test]
fn each_provider_sets_its_variables() {
    for (kind, properties, expected) in PROVIDERS {
        let env = project(
            &format!(
                "  defaults:
    imports: [{{repository: unfurl, file: tosca_plugins/k8s.yaml}}]
    connections:
      primary_provider: {{type: {kind}, properties: {{{properties}}}}}
"
            ),
            &printing(PATTERN),
        );
        let seen = deployed(&env);
        let seen = seen.lines().collect::<Vec<_>>().join(" ");
        assert_eq!(seen, *expected, "{kind}");
    }
}

#[test]
fn secret_variables_of_each_provider_are_set_and_redacted() {
    let secrets = [
        ("AWSAccount", "AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN"),
        (
            "DigitalOcean",
            "DIGITALOCEAN_TOKEN SPACES_SECRET_ACCESS_KEY",
        ),
        (
            "Azure",
            "AZURE_SECRET:ARM_CLIENT_SECRET AZURE_PASSWORD AZURE_STORAGE_KEY AZURE_STORAGE_CONNECTION_STRING",
        ),
        ("Packet", "PACKET_API_TOKEN"),
        (
            "K8sCluster",
            "token:KUBE_TOKEN cluster_ca_certificate:KUBE_CLUSTER_CA_CERT_DATA",
        ),
    ];
    for (kind, names) in secrets {
        let names = names
            .split(' ')
            .map(|it| it.split_once(':').unwrap_or((it, it)));
        let names: Vec<(&str, &str)> = names.collect();
        let properties = names.iter().map(|(name, _)| format!("{name}: hush-{name}"));
        let properties = properties.collect::<Vec<_>>().join(", ");
        let more = if kind == "Packet" { ", project: p" } else { "" };
        let checks = names.iter().map(|(name, variable)| {
            let tail: String = name
                .chars()
                .rev()
                .take(3)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            format!("case ${variable} in h?sh-*{tail}) echo ${variable} ok;; *) exit 1;; esac")
        });
        let checks = checks.collect::<Vec<_>>().join("; ");
        let env = project(
            &format!(
                "  defaults:
    imports: [{{repository: unfurl, file: tosca_plugins/k8s.yaml}}]
    connections:
      primary_provider: {{type: unfurl.relationships.ConnectsTo.{kind}, properties: {{{properties}{more}}}}}
"
            ),
            &format!(
                "        a:
          type: tosca.nodes.Root
          interfaces: {{Standard: {{configure: {{implementation: Shell, inputs: {{command: '{checks}', resultTemplate: {{attributes: {{o: '{{{{ stdout }}}}'}}}}}}}}}}}}
"
            ),
        );
        let run = env.unfurl(["deploy", "--approve"]).succeeds();
        assert!(!run.all().contains("hush-"), "{run}");
        assert!(!env.read("ensemble.yaml").contains("hush-"));
    }
}

#[test]
fn properties_that_are_not_set_take_the_variables_of_the_shell() {
    let env = project(
        "  defaults:
    connections:
      primary_provider: {type: unfurl.relationships.ConnectsTo.Azure}
",
        &printing("^(ARM|AZURE)_"),
    );
    let env = env.variable("AZURE_TENANT", "shell");
    assert_eq!(deployed(&env), "ARM_TENANT_ID=shell\nAZURE_TENANT=shell");
}

#[test]
fn a_check_that_needs_python_is_left_out_with_a_warning() {
    let env = project(
        "  defaults:
    connections:
      primary_provider: {type: unfurl.relationships.ConnectsTo.GoogleCloudProject}
",
        &printing("^GCP"),
    );
    let run = env.unfurl(["deploy", "--approve"]).succeeds();
    let warning = "the connection `primary_provider` is not checked before the job";
    assert!(run.stderr.contains(warning), "{run}");
}

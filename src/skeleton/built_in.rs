//! The skeletons in the program.

/// The file `.gitattributes` of each repository.
pub const GIT_ATTRIBUTES: &str = include_str!("files/gitattributes");

/// The names of the built-in skeletons; each replaces some files of the default one.
pub const BUILT_IN_NAMES: [&str; 7] = [
    "home",
    "aws",
    "azure",
    "digitalocean",
    "gcp",
    "k8s",
    "dashboard",
];

/// The templates of the default skeleton.
const DEFAULT: &[(&str, &str)] = &[
    ("unfurl.yaml.j2", include_str!("files/unfurl.yaml.j2")),
    (
        "unfurl.local.yaml.j2",
        include_str!("files/unfurl.local.yaml.j2"),
    ),
    ("secrets.yaml.j2", include_str!("files/secrets.yaml.j2")),
    (
        "local-unfurl-template.yaml.j2",
        include_str!("files/local-unfurl-template.yaml.j2"),
    ),
    (
        "manifest-template.yaml.j2",
        include_str!("files/manifest-template.yaml.j2"),
    ),
    (
        "service_template.py.j2",
        include_str!("files/service_template.py.j2"),
    ),
    ("manifest.yaml.j2", include_str!("files/manifest.yaml.j2")),
    ("gitignore.j2", include_str!("files/gitignore.j2")),
];

/// Returns a template of the default skeleton.
pub(super) fn default_template(file: &str) -> Option<&'static str> {
    find(DEFAULT, file)
}

/// Returns the names of the files that a skeleton may have.
pub(super) fn template_names() -> impl Iterator<Item = &'static str> {
    DEFAULT.iter().map(|(name, _)| *name)
}

/// Returns the templates that a built-in skeleton replaces; `None` if there is no such skeleton.
pub(super) fn templates_of(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    Some(match name {
        "home" => &[
            ("unfurl.yaml.j2", include_str!("files/home/unfurl.yaml.j2")),
            (
                "manifest-template.yaml.j2",
                include_str!("files/home/manifest-template.yaml.j2"),
            ),
        ],
        "aws" => &[("unfurl.yaml.j2", include_str!("files/aws.yaml.j2"))],
        "azure" => &[("unfurl.yaml.j2", include_str!("files/azure.yaml.j2"))],
        "digitalocean" => &[("unfurl.yaml.j2", include_str!("files/digitalocean.yaml.j2"))],
        "gcp" => &[("unfurl.yaml.j2", include_str!("files/gcp.yaml.j2"))],
        "k8s" => &[("unfurl.yaml.j2", include_str!("files/k8s.yaml.j2"))],
        "dashboard" => &[("unfurl.yaml.j2", include_str!("files/dashboard.yaml.j2"))],
        _ => return None,
    })
}

pub(super) fn find<'a>(files: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    let mut files = files.iter();
    files.find(|(file, _)| *file == name).map(|(_, text)| *text)
}

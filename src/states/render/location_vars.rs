//! The variables that describe the place of a template in the state tree.

use crate::expr::{template_folder, tpldir};
use crate::value::{Map, Value};

/// The variables that describe the location of a template, such as `sls`, `slspath` and `tpldir`.
pub(super) fn template_location_vars(sls: &str, path: &str) -> Map {
    let folder = template_folder(path);
    let words = [
        ("sls", sls.to_owned()),
        ("slspath", folder.to_owned()),
        ("slsdotpath", folder.replace('/', ".")),
        ("slscolonpath", folder.replace('/', ":")),
        ("sls_path", folder.replace('/', "_")),
        ("tplpath", path.to_owned()),
        ("tplfile", path.to_owned()),
        ("tpldir", tpldir(folder).to_owned()),
        ("tpldot", folder.replace('/', ".")),
    ];
    words
        .into_iter()
        .map(|(name, value)| (name.into(), Value::from(value)))
        .collect()
}

//! The request of an expression for a secret that is stored outside of the project.

/// The name by which `--allow` permits that secrets come from programs, servers and files outside of the
/// project.
pub const SECRETS_PERMISSION: &str = "secrets";

/// A secret in a backend of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRequest {
    /// The name that the backend knows.
    pub name: String,
    /// The name of the backend. None for the only one.
    pub from: Option<String>,
    /// The field of the secret. None for the whole secret.
    pub field: Option<String>,
}

/// The reason why an expression got no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretError {
    /// The backend would run a program or use the network, and the user did not allow it.
    NotPermitted,
    /// The message of the backend.
    Failed(String),
}

/// The id and the password of a vault, for a program that opens texts of Ansible Vault. The debug form shows only the id.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultPassword {
    pub id: String,
    pub password: zeroize::Zeroizing<String>,
}

impl std::fmt::Debug for VaultPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("VaultPassword").field(&self.id).finish()
    }
}

//! Authentication on an SSH connection, with as many factors as the host requires (F46, F49, F53).
//!
//! The order is: keys of the agent, keys of files, the password, keyboard-interactive prompts.

use std::sync::Arc;

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse as Reply};
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::{AgentClient, AgentStream};
use russh::keys::{Algorithm, Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey};
use russh::{MethodKind, MethodSet};

use super::algorithms::HostKeyAlgorithms;
use super::client::SshClient;
use super::failure::{ConnectFailure, display_name};
use super::keys::KeyFile;
use super::login_files::LoginFiles;
use crate::host::{Destination, Identities, LoginMethod, Question, Secret};

/// The maximum number of successive factors.
const MAX_FACTORS: usize = 5;
/// The maximum number of rounds of prompts in one keyboard-interactive login.
const MAX_ROUNDS: usize = 5;

type AgentConnection = AgentClient<Box<dyn AgentStream + Send + Unpin>>;

/// A key or certificate to log in with.
enum Credential {
    Agent(PublicKey),
    /// A certificate for a key of the agent.
    AgentCertificate(Box<Certificate>),
    Key(Arc<PrivateKey>),
    /// A certificate for a key in a file.
    Certificate(Arc<PrivateKey>, Box<Certificate>),
}

/// The result of one login attempt.
enum AuthStep {
    Authenticated,
    /// The host accepted the factor and requires another one.
    PartialSuccess,
    Rejected,
}

/// A login in progress on one connection.
pub(super) struct Authenticator<'a> {
    pub(super) handle: &'a mut Handle<SshClient>,
    pub(super) destination: &'a Destination,
    pub(super) files: &'a LoginFiles,
    /// The methods that the host accepts, once it has listed them.
    offered: Option<MethodSet>,
    /// The credentials tried so far, for messages.
    tried: Vec<String>,
    /// The question without an accepted answer, and whether an answer was rejected.
    ///
    /// The login reports this question if no other credential succeeds.
    unanswered: Option<(Question, bool)>,
    /// Whether the host has shown a prompt of its own.
    has_prompted: bool,
}

impl<'a> Authenticator<'a> {
    pub(super) fn new(
        handle: &'a mut Handle<SshClient>,
        destination: &'a Destination,
        files: &'a LoginFiles,
    ) -> Self {
        Self {
            handle,
            destination,
            files,
            offered: None,
            tried: Vec::new(),
            unanswered: None,
            has_prompted: false,
        }
    }

    /// Logs in, or returns the reason why it failed.
    pub(super) async fn run(mut self) -> Result<(), ConnectFailure> {
        let mut agent = self.agent().await;
        let mut credentials = if self.allows(MethodKind::PublicKey) {
            self.collect_credentials(agent.as_mut()).await.into_iter()
        } else {
            Vec::new().into_iter()
        };
        let mut password = self.identities().password.clone();
        if credentials.len() == 0 || self.asks_first() {
            let user = self.user();
            let answer = self.handle.authenticate_none(user).await;
            if matches!(self.handle_auth_result(answer)?, AuthStep::Authenticated) {
                return Ok(());
            }
        }
        let asks_first = self.asks_first();
        for _ in 0..MAX_FACTORS {
            let mut step = AuthStep::Rejected;
            if asks_first {
                step = self.try_password(&mut password).await?;
            }
            if matches!(step, AuthStep::Rejected) {
                step = self.try_keys(&mut credentials, agent.as_mut()).await?;
            }
            if matches!(step, AuthStep::Rejected) && !asks_first {
                step = self.try_password(&mut password).await?;
            }
            match step {
                AuthStep::Authenticated => return Ok(()),
                AuthStep::PartialSuccess => {}
                AuthStep::Rejected => break,
            }
        }
        Err(self.failure())
    }

    fn identities(&self) -> &'a Identities {
        &self.destination.identities
    }

    fn user(&self) -> String {
        self.destination.address.user.clone()
    }

    /// Returns true if the configuration allows a method, and the host accepts it as far as known.
    fn accepts(&self, method: MethodKind) -> bool {
        let offered = self.offered.as_ref();
        self.allows(method) && offered.is_none_or(|offered| offered.contains(&method))
    }

    /// Returns true if the configuration allows a method.
    fn allows(&self, method: MethodKind) -> bool {
        let identities = self.identities();
        let is_possible = method == MethodKind::PublicKey || identities.password_prompts > 0;
        let mut methods = identities.methods.iter();
        is_possible && methods.any(|it| kind_of(*it) == method)
    }

    /// Returns true if the configuration prefers a password to keys.
    fn asks_first(&self) -> bool {
        let first = self.identities().methods.first();
        first.is_some_and(|method| *method != LoginMethod::PublicKey)
    }

    async fn agent(&self) -> Option<AgentConnection> {
        let socket = self.identities().agent.as_ref()?;
        let agent = AgentClient::connect_uds(socket).await.ok()?;
        let mut agent = agent.dynamic();
        if let Some(binding) = self.handle.agent_session_binding() {
            // An agent without support for session binding refuses, which is harmless.
            agent.bind_session(binding, false).await.ok();
        }
        Some(agent)
    }

    /// Collects all keys and certificates.
    ///
    /// Keys of the agent come first, and among them those that are also in the key files.
    async fn collect_credentials(
        &mut self,
        agent: Option<&mut AgentConnection>,
    ) -> Vec<Credential> {
        let identities = self.identities();
        let public = self.files.public_files(identities).await;
        let mut credentials = Vec::new();
        let mut held = Vec::new();
        if let Some(agent) = agent {
            let all = agent.request_identities().await.unwrap_or_default();
            let is_preferred =
                |identity: &AgentIdentity| contains_key(&public.keys, &identity.public_key());
            let (named, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_preferred);
            let others = others.into_iter().filter(|_| !identities.only_listed);
            for identity in named.into_iter().chain(others) {
                held.push(identity.public_key().into_owned());
                add_agent_credentials(&mut credentials, identity, &public.certificates);
            }
        }
        for file in &identities.files {
            let passphrase = identities.passphrase.as_ref();
            match self.files.private_key(file, passphrase).await {
                KeyFile::Unlocked(key) if contains_key(&held, key.public_key()) => {}
                KeyFile::Unlocked(key) => {
                    // The same key may be in two files. It is offered once.
                    held.push(key.public_key().clone());
                    let fitting = certificates_for(&public.certificates, key.public_key());
                    credentials
                        .extend(fitting.map(|it| Credential::Certificate(Arc::clone(&key), it)));
                    credentials.push(Credential::Key(key));
                }
                KeyFile::Locked {
                    public: Some(key), ..
                } if contains_key(&held, &key) => {}
                KeyFile::Locked {
                    question, refused, ..
                } => {
                    self.unanswered.get_or_insert((question, refused));
                }
                KeyFile::Unusable(why) => self.tried.extend(why),
            }
        }
        credentials
    }

    async fn try_keys(
        &mut self,
        credentials: &mut std::vec::IntoIter<Credential>,
        mut agent: Option<&mut AgentConnection>,
    ) -> Result<AuthStep, ConnectFailure> {
        while self.accepts(MethodKind::PublicKey)
            && let Some(credential) = credentials.next()
        {
            let step = self.try_key(credential, agent.as_deref_mut()).await?;
            if !matches!(step, AuthStep::Rejected) {
                return Ok(step);
            }
        }
        Ok(AuthStep::Rejected)
    }

    async fn try_key(
        &mut self,
        credential: Credential,
        agent: Option<&mut AgentConnection>,
    ) -> Result<AuthStep, ConnectFailure> {
        let user = self.user();
        let answer = match (credential, agent) {
            (Credential::Key(key), _) => {
                self.note_attempt(&key.algorithm(), "key");
                let hash = self.hash_for(&key.algorithm()).await;
                let key = PrivateKeyWithHashAlg::new(key, hash);
                self.handle.authenticate_publickey(user, key).await
            }
            (Credential::Certificate(key, certificate), _) => {
                self.note_attempt(&key.algorithm(), "certificate");
                let handle = &mut *self.handle;
                handle
                    .authenticate_openssh_cert(user, key, *certificate)
                    .await
            }
            (Credential::Agent(key), Some(agent)) => {
                self.note_attempt(&key.algorithm(), "key of the agent");
                let hash = self.hash_for(&key.algorithm()).await;
                let handle = &mut *self.handle;
                let answer = handle.authenticate_publickey_with(user, key, hash, agent);
                // An agent may refuse to sign with one key and accept the next.
                match answer.await {
                    Ok(answer) => Ok(answer),
                    Err(_) => return self.check_connection(),
                }
            }
            (Credential::AgentCertificate(certificate), Some(agent)) => {
                let algorithm = certificate.algorithm();
                self.note_attempt(&algorithm, "certificate of the agent");
                let hash = self.hash_for(&algorithm).await;
                let handle = &mut *self.handle;
                let answer = handle.authenticate_certificate_with(user, *certificate, hash, agent);
                match answer.await {
                    Ok(answer) => Ok(answer),
                    Err(_) => return self.check_connection(),
                }
            }
            (Credential::Agent(_) | Credential::AgentCertificate(_), None) => {
                return Ok(AuthStep::Rejected);
            }
        };
        self.handle_auth_result(answer)
    }

    /// Returns the best hash algorithm that the host accepts for an RSA key; none for other keys, and
    /// for SHA-1, which only the user's configuration turns on.
    async fn hash_for(&self, algorithm: &Algorithm) -> Option<HashAlg> {
        if !algorithm.clone().is_rsa() {
            return None;
        }
        let settings = [
            &self.destination.host_key_algorithms,
            &self.destination.algorithms.pubkey,
        ];
        let accepts_sha1 =
            |setting: &Option<String>| HostKeyAlgorithms::choose(setting.as_deref()).accepts_sha1();
        match self.handle.best_supported_rsa_hash().await {
            Ok(Some(None)) if settings.into_iter().any(accepts_sha1) => None,
            Ok(best) => best.flatten().or(Some(HashAlg::Sha512)),
            Err(_) => Some(HashAlg::Sha512),
        }
    }

    async fn try_password(
        &mut self,
        password: &mut Option<Secret>,
    ) -> Result<AuthStep, ConnectFailure> {
        let prompting_methods = [MethodKind::Password, MethodKind::KeyboardInteractive];
        if self.offered.is_none()
            || !prompting_methods
                .into_iter()
                .any(|method| self.accepts(method))
        {
            return Ok(AuthStep::Rejected);
        }
        let question = Question::Login(self.destination.address.to_string());
        let Some(secret) = password.take() else {
            let refused = self.tried.iter().any(|it| it == "password");
            if !refused && !self.accepts(MethodKind::Password) {
                // Some hosts offer keyboard-interactive but then show no prompt, and need no
                // password.
                let step = self.try_keyboard_interactive(None).await?;
                if !matches!(step, AuthStep::Rejected) || !self.has_prompted {
                    return Ok(step);
                }
            }
            // A locked key is reported first, because keys are tried before passwords.
            if refused || self.unanswered.is_none() {
                self.unanswered = Some((question, refused));
            }
            return Ok(AuthStep::Rejected);
        };
        self.tried.push("password".to_owned());
        for method in self.identities().methods.clone() {
            let step = match method {
                LoginMethod::PublicKey => continue,
                method if !self.accepts(kind_of(method)) => continue,
                LoginMethod::Password => {
                    let (user, text) = (self.user(), secret.reveal());
                    let answer = self.handle.authenticate_password(user, text).await;
                    self.handle_auth_result(answer)?
                }
                LoginMethod::KeyboardInteractive => {
                    self.try_keyboard_interactive(Some(&secret)).await?
                }
            };
            if !matches!(step, AuthStep::Rejected) {
                // The next factor may be a prompt with the same answer.
                *password = matches!(step, AuthStep::PartialSuccess).then_some(secret);
                return Ok(step);
            }
        }
        self.unanswered = Some((question, true));
        Ok(AuthStep::Rejected)
    }

    async fn try_keyboard_interactive(
        &mut self,
        secret: Option<&Secret>,
    ) -> Result<AuthStep, ConnectFailure> {
        let user = self.user();
        let started = self
            .handle
            .authenticate_keyboard_interactive_start(user, None)
            .await;
        let mut reply = started.map_err(|error| self.connection_lost(&error))?;
        let mut has_answered = false;
        for _ in 0..MAX_ROUNDS {
            let prompts = match reply {
                Reply::Success => return Ok(AuthStep::Authenticated),
                Reply::Failure {
                    remaining_methods,
                    partial_success,
                } => {
                    let answer = AuthResult::Failure {
                        remaining_methods,
                        partial_success,
                    };
                    return self.handle_auth_result(Ok(answer));
                }
                Reply::InfoRequest { prompts, .. } => prompts,
            };
            let hidden = prompts.iter().any(|prompt| !prompt.echo);
            self.has_prompted |= hidden;
            if hidden && (has_answered || secret.is_none()) {
                // A repeated prompt means that the answer was wrong.
                return Ok(AuthStep::Rejected);
            }
            has_answered |= hidden;
            let reveal = || secret.map_or_else(String::new, |it| it.reveal().to_owned());
            let answer =
                |prompt: &russh::client::Prompt| if prompt.echo { String::new() } else { reveal() };
            let answers = prompts.iter().map(answer).collect();
            let next = self
                .handle
                .authenticate_keyboard_interactive_respond(answers)
                .await;
            reply = next.map_err(|error| self.connection_lost(&error))?;
        }
        Ok(AuthStep::Rejected)
    }

    fn handle_auth_result(
        &mut self,
        answer: Result<AuthResult, russh::Error>,
    ) -> Result<AuthStep, ConnectFailure> {
        match answer.map_err(|error| self.connection_lost(&error))? {
            AuthResult::Success => Ok(AuthStep::Authenticated),
            AuthResult::Failure {
                remaining_methods,
                partial_success,
            } => {
                if !remaining_methods.is_empty() || self.offered.is_none() {
                    self.offered = Some(remaining_methods);
                }
                if self.handle.is_closed() {
                    return Err(self.failure());
                }
                Ok(if partial_success {
                    AuthStep::PartialSuccess
                } else {
                    AuthStep::Rejected
                })
            }
        }
    }

    /// Treats the attempt as rejected if the host is still connected, so that the next credential
    /// is tried.
    fn check_connection(&self) -> Result<AuthStep, ConnectFailure> {
        if self.handle.is_closed() {
            return Err(self.failure());
        }
        Ok(AuthStep::Rejected)
    }

    fn note_attempt(&mut self, algorithm: &Algorithm, what: &str) {
        self.tried.push(format!("{algorithm} {what}"));
    }

    fn connection_lost(&self, error: &russh::Error) -> ConnectFailure {
        self.login_refused(&format!(
            "the connection was lost during the login: {error}"
        ))
    }

    fn failure(&self) -> ConnectFailure {
        if let Some((question, _)) = self
            .unanswered
            .as_ref()
            .filter(|_| self.identities().is_batch)
        {
            let why =
                format!("needs {question}, but `BatchMode yes` of ssh_config forbids questions");
            return self.login_refused(&why);
        }
        if let Some((question, refused)) = &self.unanswered
            && let Some(why) = self.limit_reached(question, *refused)
        {
            return self.login_refused(&why);
        }
        if let Some((question, refused)) = &self.unanswered {
            return ConnectFailure::NeedsAnswer {
                question: question.clone(),
                refused: *refused,
            };
        }
        let tried = match self.tried.as_slice() {
            [] if self.identities().password_prompts == 0 => {
                "no key is available, and `NumberOfPasswordPrompts 0` of ssh_config allows no password".to_owned()
            }
            [] => "no key and no password is available".to_owned(),
            tried => format!("tried {}", tried.join(", ")),
        };
        let offered = self.offered.as_ref().filter(|it| !it.is_empty());
        let takes = offered.map_or_else(String::new, |offered| {
            let names: Vec<&str> = offered.iter().map(<&str>::from).collect();
            format!("; the host accepts {}", names.join(", "))
        });
        self.login_refused(&format!("{tried}{takes}"))
    }

    /// Returns the reason why a question is not asked again, if the login has refused enough answers.
    fn limit_reached(&self, question: &Question, refused: bool) -> Option<String> {
        let identities = self.identities();
        let refusals = identities.refusals + u32::from(refused);
        if refusals < identities.password_prompts {
            return None;
        }
        Some(match refusals {
            0 => format!(
                "needs {question}, but `NumberOfPasswordPrompts 0` of ssh_config forbids it"
            ),
            1 => format!("{question} was refused"),
            count => format!("{question} was refused {count} times"),
        })
    }

    fn login_refused(&self, why: &str) -> ConnectFailure {
        ConnectFailure::LoginRefused {
            host: display_name(self.destination),
            user: self.user(),
            why: why.to_owned(),
        }
    }
}

fn kind_of(method: LoginMethod) -> MethodKind {
    match method {
        LoginMethod::PublicKey => MethodKind::PublicKey,
        LoginMethod::Password => MethodKind::Password,
        LoginMethod::KeyboardInteractive => MethodKind::KeyboardInteractive,
    }
}

fn contains_key(keys: &[PublicKey], key: &PublicKey) -> bool {
    keys.iter().any(|it| it.key_data() == key.key_data())
}

fn certificates_for<'a>(
    all: &'a [Certificate],
    key: &'a PublicKey,
) -> impl Iterator<Item = Box<Certificate>> + 'a {
    let fits = |it: &&Certificate| it.public_key() == key.key_data();
    all.iter().filter(fits).cloned().map(Box::new)
}

fn add_agent_credentials(
    credentials: &mut Vec<Credential>,
    identity: AgentIdentity,
    certificates: &[Certificate],
) {
    match identity {
        AgentIdentity::PublicKey { key, .. } => {
            let fitting = certificates_for(certificates, &key);
            credentials.extend(fitting.map(Credential::AgentCertificate));
            credentials.push(Credential::Agent(key));
        }
        AgentIdentity::Certificate { certificate, .. } => {
            credentials.push(Credential::AgentCertificate(Box::new(certificate)));
        }
    }
}

//! Logs in: with keys of the agent, keys of files, a password, and answers, in this order; as
//! many of them as the host wants together (spec/hosts.md F46, F49, F53).

use std::sync::Arc;

use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse as Reply};
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::{AgentClient, AgentStream};
use russh::keys::{Algorithm, Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey};
use russh::{MethodKind, MethodSet};

use super::client::Client;
use super::failure::{Failure, shown};
use super::keys::{self, KeyFile, Keys};
use crate::host::{Destination, Identities, Question, Secret};

/// How many factors a host may want, one after the other.
const MOST_FACTORS: usize = 5;
/// How many rounds of questions a host may ask in one keyboard-interactive login.
const MOST_ROUNDS: usize = 5;

type Agent = AgentClient<Box<dyn AgentStream + Send + Unpin>>;

/// Something that proves who the user is.
enum Proof {
    /// A key of the agent.
    Agent(PublicKey),
    /// A certificate for a key of the agent.
    AgentCertificate(Box<Certificate>),
    /// A key of a file.
    Key(Arc<PrivateKey>),
    /// A certificate for a key of a file.
    Certificate(Arc<PrivateKey>, Box<Certificate>),
}

/// What an attempt gave.
enum Step {
    /// The user is in.
    In,
    /// The proof was taken, and the host wants another one.
    Further,
    /// It was not taken.
    No,
}

/// A login on its way.
pub(super) struct Login<'a> {
    pub(super) handle: &'a mut Handle<Client>,
    pub(super) destination: &'a Destination,
    pub(super) keys: &'a Keys,
    /// What the host takes, once it has told.
    offered: Option<MethodSet>,
    /// What was tried, as messages name it.
    tried: Vec<String>,
    /// What was asked in vain, told if nothing else lets in.
    asked: Option<(Question, bool)>,
    /// Whether the host has asked anything itself.
    was_asked: bool,
}

impl<'a> Login<'a> {
    pub(super) fn new(
        handle: &'a mut Handle<Client>,
        destination: &'a Destination,
        keys: &'a Keys,
    ) -> Self {
        Self {
            handle,
            destination,
            keys,
            offered: None,
            tried: Vec::new(),
            asked: None,
            was_asked: false,
        }
    }

    /// Logs in, or says why that is not possible.
    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let mut agent = self.agent().await;
        let mut proofs = self.proofs(agent.as_mut()).await.into_iter();
        let mut password = self.identities().password.clone();
        if proofs.len() == 0 {
            let user = self.user();
            let answer = self.handle.authenticate_none(user).await;
            if matches!(self.step(answer)?, Step::In) {
                return Ok(());
            }
        }
        for _ in 0..MOST_FACTORS {
            let step = match self.with_keys(&mut proofs, agent.as_mut()).await? {
                Step::No => self.with_password(&mut password).await?,
                step => step,
            };
            match step {
                Step::In => return Ok(()),
                Step::Further => {}
                Step::No => break,
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

    fn takes(&self, method: MethodKind) -> bool {
        let offered = self.offered.as_ref();
        offered.is_none_or(|offered| offered.contains(&method))
    }

    async fn agent(&self) -> Option<Agent> {
        let socket = self.identities().agent.as_ref()?;
        let agent = AgentClient::connect_uds(socket).await.ok()?;
        let mut agent = agent.dynamic();
        if let Some(binding) = self.handle.agent_session_binding() {
            // An agent that knows no bound keys refuses, which is no harm.
            agent.bind_session(binding, false).await.ok();
        }
        Some(agent)
    }

    /// All keys there are, those of the agent first, and of these those that files name.
    async fn proofs(&mut self, agent: Option<&mut Agent>) -> Vec<Proof> {
        let identities = self.identities();
        let files = identities.files.clone();
        let named = identities.certificates.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let wanted: Vec<PublicKey> =
                files.iter().filter_map(|it| keys::public_key(it)).collect();
            (wanted, keys::certificates(&files, &named))
        });
        let (wanted, certificates) = reading.await.unwrap_or_default();
        let mut proofs = Vec::new();
        let mut held = Vec::new();
        if let Some(agent) = agent {
            let all = agent.request_identities().await.unwrap_or_default();
            let is_wanted = |identity: &AgentIdentity| has(&wanted, &identity.public_key());
            let (named, others): (Vec<_>, Vec<_>) = all.into_iter().partition(is_wanted);
            let others = others.into_iter().filter(|_| !identities.only_files);
            for identity in named.into_iter().chain(others) {
                held.push(identity.public_key().into_owned());
                add_of_agent(&mut proofs, identity, &certificates);
            }
        }
        for file in &identities.files {
            match self.keys.read(file, identities.passphrase.as_ref()).await {
                KeyFile::Open(key) if has(&held, key.public_key()) => {}
                KeyFile::Open(key) => {
                    let fitting = certificates_for(&certificates, key.public_key());
                    proofs.extend(fitting.map(|it| Proof::Certificate(Arc::clone(&key), it)));
                    proofs.push(Proof::Key(key));
                }
                KeyFile::Locked {
                    public: Some(key), ..
                } if has(&held, &key) => {}
                KeyFile::Locked {
                    question, refused, ..
                } => {
                    self.asked.get_or_insert((question, refused));
                }
                KeyFile::Unusable(why) => self.tried.extend(why),
            }
        }
        proofs
    }

    async fn with_keys(
        &mut self,
        proofs: &mut std::vec::IntoIter<Proof>,
        mut agent: Option<&mut Agent>,
    ) -> Result<Step, Failure> {
        while self.takes(MethodKind::PublicKey)
            && let Some(proof) = proofs.next()
        {
            let step = self.with_key(proof, agent.as_deref_mut()).await?;
            if !matches!(step, Step::No) {
                return Ok(step);
            }
        }
        Ok(Step::No)
    }

    async fn with_key(&mut self, proof: Proof, agent: Option<&mut Agent>) -> Result<Step, Failure> {
        let user = self.user();
        let answer = match (proof, agent) {
            (Proof::Key(key), _) => {
                self.note(&key.algorithm(), "key");
                let hash = self.hash_for(&key.algorithm()).await;
                let key = PrivateKeyWithHashAlg::new(key, hash);
                self.handle.authenticate_publickey(user, key).await
            }
            (Proof::Certificate(key, certificate), _) => {
                self.note(&key.algorithm(), "certificate");
                let handle = &mut *self.handle;
                handle
                    .authenticate_openssh_cert(user, key, *certificate)
                    .await
            }
            (Proof::Agent(key), Some(agent)) => {
                self.note(&key.algorithm(), "key of the agent");
                let hash = self.hash_for(&key.algorithm()).await;
                let handle = &mut *self.handle;
                let answer = handle.authenticate_publickey_with(user, key, hash, agent);
                // An agent may refuse to sign with a key; the next one may do.
                match answer.await {
                    Ok(answer) => Ok(answer),
                    Err(_) => return self.alive(),
                }
            }
            (Proof::AgentCertificate(certificate), Some(agent)) => {
                let algorithm = certificate.algorithm();
                self.note(&algorithm, "certificate of the agent");
                let hash = self.hash_for(&algorithm).await;
                let handle = &mut *self.handle;
                let answer = handle.authenticate_certificate_with(user, *certificate, hash, agent);
                match answer.await {
                    Ok(answer) => Ok(answer),
                    Err(_) => return self.alive(),
                }
            }
            (Proof::Agent(_) | Proof::AgentCertificate(_), None) => return Ok(Step::No),
        };
        self.step(answer)
    }

    /// What an RSA key signs with: the best that the host takes.
    async fn hash_for(&self, algorithm: &Algorithm) -> Option<HashAlg> {
        if !algorithm.clone().is_rsa() {
            return None;
        }
        match self.handle.best_supported_rsa_hash().await {
            Ok(Some(best)) => best,
            Ok(None) | Err(_) => Some(HashAlg::Sha512),
        }
    }

    async fn with_password(&mut self, password: &mut Option<Secret>) -> Result<Step, Failure> {
        let asks = [MethodKind::Password, MethodKind::KeyboardInteractive];
        if self.offered.is_none() || !asks.into_iter().any(|method| self.takes(method)) {
            return Ok(Step::No);
        }
        let question = Question::Login(self.destination.address.to_string());
        let Some(secret) = password.take() else {
            let refused = self.tried.iter().any(|it| it == "password");
            if !refused && !self.takes(MethodKind::Password) {
                // Some hosts offer to ask, and then ask nothing.
                let step = self.with_answers(None).await?;
                if !matches!(step, Step::No) || !self.was_asked {
                    return Ok(step);
                }
            }
            // What opens a key comes before what does without one.
            if refused || self.asked.is_none() {
                self.asked = Some((question, refused));
            }
            return Ok(Step::No);
        };
        self.tried.push("password".to_owned());
        if self.takes(MethodKind::Password) {
            let (user, text) = (self.user(), secret.reveal());
            let answer = self.handle.authenticate_password(user, text).await;
            let step = self.step(answer)?;
            if !matches!(step, Step::No) {
                // The next factor may be a question that has the same answer.
                *password = matches!(step, Step::Further).then_some(secret);
                return Ok(step);
            }
        }
        if self.takes(MethodKind::KeyboardInteractive) {
            let step = self.with_answers(Some(&secret)).await?;
            if !matches!(step, Step::No) {
                return Ok(step);
            }
        }
        self.asked = Some((question, true));
        Ok(Step::No)
    }

    async fn with_answers(&mut self, secret: Option<&Secret>) -> Result<Step, Failure> {
        let user = self.user();
        let started = self
            .handle
            .authenticate_keyboard_interactive_start(user, None)
            .await;
        let mut reply = started.map_err(|error| self.lost(&error))?;
        let mut answered = false;
        for _ in 0..MOST_ROUNDS {
            let prompts = match reply {
                Reply::Success => return Ok(Step::In),
                Reply::Failure {
                    remaining_methods,
                    partial_success,
                } => {
                    let answer = AuthResult::Failure {
                        remaining_methods,
                        partial_success,
                    };
                    return self.step(Ok(answer));
                }
                Reply::InfoRequest { prompts, .. } => prompts,
            };
            let hidden = prompts.iter().any(|prompt| !prompt.echo);
            self.was_asked |= hidden;
            if hidden && (answered || secret.is_none()) {
                // Asked again, it would not take the same answer.
                return Ok(Step::No);
            }
            answered |= hidden;
            let reveal = || secret.map_or_else(String::new, |it| it.reveal().to_owned());
            let answer =
                |prompt: &russh::client::Prompt| if prompt.echo { String::new() } else { reveal() };
            let answers = prompts.iter().map(answer).collect();
            let next = self
                .handle
                .authenticate_keyboard_interactive_respond(answers)
                .await;
            reply = next.map_err(|error| self.lost(&error))?;
        }
        Ok(Step::No)
    }

    fn step(&mut self, answer: Result<AuthResult, russh::Error>) -> Result<Step, Failure> {
        match answer.map_err(|error| self.lost(&error))? {
            AuthResult::Success => Ok(Step::In),
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
                    Step::Further
                } else {
                    Step::No
                })
            }
        }
    }

    /// The host is still there, and the next proof may do.
    fn alive(&self) -> Result<Step, Failure> {
        if self.handle.is_closed() {
            return Err(self.failure());
        }
        Ok(Step::No)
    }

    fn note(&mut self, algorithm: &Algorithm, what: &str) {
        self.tried.push(format!("{algorithm} {what}"));
    }

    fn lost(&self, error: &russh::Error) -> Failure {
        self.refused(&format!("the connection was lost meanwhile: {error}"))
    }

    fn failure(&self) -> Failure {
        if let Some((question, refused)) = &self.asked {
            return Failure::Asked {
                question: question.clone(),
                refused: *refused,
            };
        }
        let tried = match self.tried.as_slice() {
            [] => "there is nothing to log in with".to_owned(),
            tried => format!("tried {}", tried.join(", ")),
        };
        let offered = self.offered.as_ref().filter(|it| !it.is_empty());
        let takes = offered.map_or_else(String::new, |offered| {
            let names: Vec<&str> = offered.iter().map(<&str>::from).collect();
            format!("; it takes {}", names.join(", "))
        });
        self.refused(&format!("{tried}{takes}"))
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::LoginRefused {
            host: shown(self.destination),
            user: self.user(),
            why: why.to_owned(),
        }
    }
}

fn has(keys: &[PublicKey], key: &PublicKey) -> bool {
    keys.iter().any(|it| it.key_data() == key.key_data())
}

fn certificates_for<'a>(
    all: &'a [Certificate],
    key: &'a PublicKey,
) -> impl Iterator<Item = Box<Certificate>> + 'a {
    let fits = |it: &&Certificate| it.public_key() == key.key_data();
    all.iter().filter(fits).cloned().map(Box::new)
}

fn add_of_agent(proofs: &mut Vec<Proof>, identity: AgentIdentity, certificates: &[Certificate]) {
    match identity {
        AgentIdentity::PublicKey { key, .. } => {
            let fitting = certificates_for(certificates, &key);
            proofs.extend(fitting.map(Proof::AgentCertificate));
            proofs.push(Proof::Agent(key));
        }
        AgentIdentity::Certificate { certificate, .. } => {
            proofs.push(Proof::AgentCertificate(Box::new(certificate)));
        }
    }
}

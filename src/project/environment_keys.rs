//! The keys of an environment: tables for checks, completion and the schemas of editors.

use crate::drift::DRIFT_KEYS;
use crate::schedule::SCHEDULE_KEYS;
use crate::secret::SECRET_BACKEND_KEYS;
use crate::yaml::{Shape, tables};

use Shape::{Any, List, Map, MapOf, Of, Scalar, Text, Words};

tables! {
    pub ENVIRONMENT_KEYS open "environment" "An environment to deploy ensembles into" {
        "inputs" Map, "Inputs that override those of the ensemble";
        "variables" Map, "Rules for environment variables";
        "locals" Map, "Local values";
        "secrets" Map, "Secret values";
        "secret_backends" MapOf(&SECRET_BACKEND_KEYS), "Places outside of the project that hold secrets, by name";
        "connections" Map, "Relationship templates for connections to external systems";
        "instances" Map, "Node templates and instances that ensembles share";
        "repositories" Map, "TOSCA repositories, by name";
        "cloudmaps" Map, "Catalogues of repositories";
        "primary_provider" Text, "The connection to the cloud; the default is `primary_provider`";
        "external" MapOf(&EXTERNAL_KEYS), "Instances of other ensembles, by name";
        "drift" Of(&DRIFT_KEYS), "The treatment of drift";
        "schedules" MapOf(&SCHEDULE_KEYS), "Actions that run at set times in this environment, by name; in `unfurl.yaml` alone";
        "lfs_lock" Of(&LFS_LOCK_KEYS), "The lock of ensembles across machines";
        "executors" Any,
            "The executor chain for the commands of operations: names, or a map with `chain` and options";
        "imports" List, "Files that the templates of the environment import";
        "deployment_blueprint" Text, "The deployment blueprint of the ensembles";
        "defaultProject" Text, "The default project of names without a project";
        "name" Text, "Its name";
    }
    pub(super) EXTERNAL_KEYS open "external" "Another ensemble and the instance of it to use" {
        "manifest" Of(&EXTERNAL_MANIFEST_KEYS), "Where the ensemble is";
        "instance" Text, "The instance that the name stands for, or `*` for all";
        "connections" List, "Connections of the ensemble to use, by name";
        "schema" Map, "The JSON schema of attributes, by name";
        "uri" Text, "The URI that the ensemble must have";
        "version" Scalar, "The version that the ensemble must have";
        "url" Text, "Reserved";
    }
    pub(super) EXTERNAL_MANIFEST_KEYS open "external_manifest" "Where another ensemble is" {
        "file" Text, "The path of its manifest";
        "repository" Text, "The repository that contains it";
        "project" Text, "The project that contains it";
        "environment" Text, "The environment that it is loaded with";
    }
    LFS_LOCK_KEYS open "lfs_lock" "The lock of ensembles across machines, through git-lfs" {
        "lock" Words(LOCK_KEYWORDS), "When to lock: never, if the server supports it, or always";
        "name" Text, "The name of the lock; the default is the path of the lock file";
        "url" Text, "The URL of the server; the default is the server of the repository";
    }
}

/// The values of `lock` in `lfs_lock`.
const LOCK_KEYWORDS: &[&str] = &["no", "try", "require"];

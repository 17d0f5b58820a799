//! Files with one mistake each: the message, its place and its hint.

mod tosca;

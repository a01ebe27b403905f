{parameter}::{type}

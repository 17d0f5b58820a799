//! Writes JSON for people and scripts, and as YAML.

use crate::value::Value;
use crate::yaml::emit;

/// Formats JSON with an indent of two spaces.
pub fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value has string keys only")
}

/// Formats JSON as YAML in block style.
pub fn yaml(value: &serde_json::Value) -> String {
    emit(&Value::from(value.clone()), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_yaml() {
        let text = yaml(&serde_json::json!({"a": [1, "yes", null], "b": {"c": 1.5, "d": {}}}));
        assert_eq!(text, "a:\n- 1\n- 'yes'\n-\nb:\n  c: 1.5\n  d: {}\n");
    }

    #[test]
    fn the_first_and_the_last_line_hold_one_bracket_each() {
        let text = pretty(&serde_json::json!({"é": [1, {"a": []}]}));
        insta::assert_snapshot!(text, @r#"
        {
          "é": [
            1,
            {
              "a": []
            }
          ]
        }
        "#);
    }
}

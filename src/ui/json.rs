//! JSON as people and scripts expect it.

/// Writes JSON with an indent of two, so that the first and the last line hold one bracket each.
pub fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value has string keys only")
}

#[cfg(test)]
mod tests {
    use super::*;

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

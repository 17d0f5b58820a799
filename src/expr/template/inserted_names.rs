//! The names of the functions and filters whose calls are inserted into the text of templates before it is compiled.

/// The name of the function that makes an assigned value mutable. `preprocess` inserts the calls.
pub(super) const MUTABLE_FUNCTION: &str = "__own";

/// The name of the function that checks the size of an assigned value. `preprocess` inserts the calls.
pub(super) const CHECK_FUNCTION: &str = "__checked";

/// The name of the function that counts plain text of a template. `preprocess` inserts the calls.
pub(super) const COUNT_FUNCTION: &str = "__counted";

/// The name of the function that checks what a loop goes through. `preprocess` inserts the calls.
pub(super) const ITEMS_FUNCTION: &str = "__items";

/// The function that begins and ends a `do` statement whose function changes its argument. `preprocess` inserts
/// the calls.
pub(super) const STATEMENT_FUNCTION: &str = "__statement";

/// The functions that change their argument, so that a `do` statement has an effect.
pub(super) const CHANGING_FUNCTIONS: [&str; 3] =
    ["defaults.merge", "slsutil.update", "_dict_key_value"];

/// The name of the function that wraps a macro. The calls are inserted after the end of the macro.
pub(super) const VARIADIC_FUNCTION: &str = "__variadic";

/// The filter that evaluates the operator `%`.
pub(super) const REMAINDER_FILTER: &str = "__remainder";

/// The name of the function that marks the name of a template as imported without context. `preprocess` inserts the calls.
pub(super) const ISOLATED_FUNCTION: &str = "__isolated";

/// The name of the function that tells whether an imported template has to hide a name. `imports` inserts the calls.
pub(super) const HIDES_FUNCTION: &str = "__hides";

/// The name of the function that gives a variable of the document. `imports` inserts the calls.
pub(super) const OUTER_FUNCTION: &str = "__outer";

/// The name of the function that gives the place of an imported template. `imports` inserts the calls.
pub(super) const PLACE_FUNCTION: &str = "__place";

// Package author makes the folder of a new tool and builds it. Each language
// is one Language: a row with what a folder of it looks like, what it takes to
// build one, and its templates. Nothing else knows of languages.
//
// Templates lie in templates/LANGUAGE/TEMPLATE, in templates/LANGUAGE/common what
// all of a language have, and in templates/all what is the same in all languages. Files that end in .tmpl are text/templates over a Spec,
// with actions in {% %}, for languages have braces of their own; gitignore stands
// for .gitignore.
package author

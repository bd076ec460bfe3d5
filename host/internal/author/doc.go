// Package author makes the folder of a new tool and builds it. Each language
// is one Language: a row with what a folder of it looks like, what it takes to
// build one, and its templates. Nothing else knows of languages.
//
// Templates lie in templates/LANGUAGE/TEMPLATE, in templates/LANGUAGE/common what
// all of a language have, and in templates/all what is the same in all languages.
// gitignore stands for .gitignore. In files that end in .tmpl, {% .Name %},
// {% .Title %} and {% .Source %} stand for those of the tool and its language, and
// a line that begins with {% WORD … %} is only for the languages and templates of
// these names.
package author

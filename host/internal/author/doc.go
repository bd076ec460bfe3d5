// Package author creates the folder of a new tool and builds it. Each language is
// one Language: a row with the layout of its folder, its toolchain and its
// templates. No other package depends on the language.
//
// Templates are in templates/LANGUAGE/TEMPLATE; files for all templates of a language
// are in templates/LANGUAGE/common, files for all languages in templates/all. The
// file gitignore becomes .gitignore. In files that end in .tmpl, {% .Name %},
// {% .Title %} and {% .Source %} are replaced with those of the tool and its
// language, and a line that begins with {% WORD … %} is only for the languages and
// templates of these names.
//
// # Files
//
//   - new: the files of a tool
//   - language, gosdk, others: languages
//   - build: builds
//   - module: around a module that is there
//   - unchanged: what an author has not edited yet
package author

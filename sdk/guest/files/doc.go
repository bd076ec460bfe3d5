// Package files helps a tool with the folder that its operator granted: it
// turns the path a model wrote into a file or into an error that the model
// can act on, walks folders without their ballast, and tells text from bytes.
package files

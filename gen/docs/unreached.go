package docs

// Unreached returns the section of a README about what the crash proof of the
// machine does not reach, "" where it reaches everything.
func Unreached(what string) string {
	if what == "" {
		return ""
	}
	p := &page{}
	p.heading(2, "Not reached by the crash proof")
	p.block("No sequence of calls, replies and time that the search finds comes there, so the proof says nothing about: " + prose(what) + ".")
	return "\n" + p.text.String()
}

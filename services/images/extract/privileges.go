package extract

import "archive/tar"

// The bits of a mode and the extended attribute that Privileges is about.
const (
	setID        = 0o6000
	capabilities = xattrPrefix + "security.capability"
)

func isPrivileged(h *tar.Header) bool {
	_, capable := h.PAXRecords[capabilities]
	return capable || h.Mode&setID != 0
}

// strip changes a header to that of the same file without privileges.
func strip(h *tar.Header) {
	h.Mode &^= setID
	delete(h.PAXRecords, capabilities)
}

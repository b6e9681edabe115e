package golang

import "github.com/dave/jennifer/jen"

// sharedCases are the cases of a switch; those with the same code share one.
type sharedCases struct {
	list   []*sharedCase
	byCode map[string]*sharedCase
}

type sharedCase struct {
	values []jen.Code
	body   []jen.Code
	text   text // of body
}

// add returns the case that value has got.
func (c *sharedCases) add(value jen.Code, body []jen.Code) *sharedCase {
	text := textOf(body...)
	if c.byCode[text.code] == nil {
		if c.byCode == nil {
			c.byCode = map[string]*sharedCase{}
		}
		added := &sharedCase{body: body, text: text}
		c.byCode[text.code] = added
		c.list = append(c.list, added)
	}
	found := c.byCode[text.code]
	found.values = append(found.values, value)
	return found
}

func (c *sharedCases) code() []jen.Code {
	var out []jen.Code
	for _, x := range c.list {
		out = append(out, jen.Case(x.values...).Block(x.body...))
	}
	return out
}

// sizeOfSwitch is the size of a switch with these cases and of what is returned behind it.
func sizeOfSwitch(cases []*sharedCase) size {
	s := size{lines: 3}
	for _, x := range cases {
		s = s.plus(size{lines: 1, forks: 1}).plus(x.text.size)
	}
	return s
}

func (c *sharedCases) texts() []text {
	var out []text
	for _, x := range c.list {
		out = append(out, x.text)
	}
	return out
}

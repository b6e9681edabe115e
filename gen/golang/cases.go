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
}

// add returns the case that value has got.
func (c *sharedCases) add(value jen.Code, body []jen.Code) *sharedCase {
	text := source(jen.Func().Id("_").Params().Block(body...))
	if c.byCode[text] == nil {
		if c.byCode == nil {
			c.byCode = map[string]*sharedCase{}
		}
		c.byCode[text] = &sharedCase{body: body}
		c.list = append(c.list, c.byCode[text])
	}
	c.byCode[text].values = append(c.byCode[text].values, value)
	return c.byCode[text]
}

func (c *sharedCases) code() []jen.Code {
	var out []jen.Code
	for _, x := range c.list {
		out = append(out, jen.Case(x.values...).Block(x.body...))
	}
	return out
}

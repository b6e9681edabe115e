package syntax

import (
	"bytes"
	"encoding/json"
)

// JSONSchema returns the JSON Schema (draft 2020-12) of the language, made
// from the shapes that the parser itself uses. Editors complete and check
// specs with it.
func JSONSchema() ([]byte, error) {
	root := schemaOf(Language())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "fsmgen machine"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type schema map[string]any

func schemaOf(s *Shape) schema {
	var kinds []schema
	if s.OneOf != nil {
		kinds = append(kinds, schema{"enum": s.OneOf})
	}
	if s.Scalar != "" {
		kinds = append(kinds, scalarSchema(s.Scalar))
	}
	if s.Keys != nil {
		kinds = append(kinds, keysSchema(s.Keys))
	}
	if s.Names != nil {
		kinds = append(kinds, schema{
			"type":                 "object",
			"propertyNames":        schema{"pattern": declaredName.String()},
			"additionalProperties": schemaOf(s.Names),
		})
	}
	if s.Items != nil {
		kinds = append(kinds, schema{"type": "array", "items": schemaOf(s.Items)})
	}
	if s.NullOK {
		kinds = append(kinds, schema{"type": "null"})
	}
	out := kinds[0]
	if len(kinds) > 1 {
		out = schema{"anyOf": kinds}
	}
	if s.Doc != "" {
		out["description"] = s.Doc
	}
	return out
}

func keysSchema(keys []Key) schema {
	properties := schema{}
	required := []string{}
	for _, k := range keys {
		properties[k.Name] = schemaOf(k.Shape)
		if k.Required {
			required = append(required, k.Name)
		}
	}
	out := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func scalarSchema(w Word) schema {
	switch w {
	case BoolWord:
		return schema{"type": "boolean"}
	case IntWord:
		return schema{"type": "integer"}
	case FloatWord:
		return schema{"type": "number"}
	case NameWord:
		return schema{"type": "string", "pattern": `^(\*|` + declaredName.String()[1:len(declaredName.String())-1] + `)$`}
	case GuardWord:
		return schema{"type": "string", "pattern": `^\s*\S+\s+\S+\s+\S`}
	case LabelWord:
		return schema{"type": "string"}
	case TextWord:
		return schema{"type": []string{"string", "number"}}
	case FreeWord:
		return schema{"type": []string{"string", "number", "boolean"}}
	}
	panic("internal error: syntax.scalarSchema has no form for the sort " + string(w))
}

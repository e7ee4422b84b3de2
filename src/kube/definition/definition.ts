import { group, version } from '../names/names.ts'
import type { Rule } from '../spec/schema-words.ts'
import { schemaRevision, schemaRevisionAnnotation } from './schema-revision.ts'

/** What one kind has of its own. */
interface Kind<Names extends { readonly plural: string }, Schema extends object, Subresources, Columns> {
  readonly names: Names
  readonly description: string
  /** Schemas of `metadata`, `spec` and `status`. */
  readonly properties: Schema
  readonly subresources: Subresources
  readonly columns: Columns
  /** Rules about several of them, such as one about the object's name: only the whole object knows the name. */
  readonly rules?: readonly Rule[]
  /** Regent's own unless given. */
  readonly of?: { readonly group: string; readonly version: string }
}

/** The definition of a kind. Helm keeps it when the chart is uninstalled: the objects would go with it. */
export function definitionOf<Names extends { readonly plural: string }, Schema extends object, Subresources, Columns>({
  names,
  description,
  properties,
  subresources,
  columns,
  rules,
  of = { group, version },
}: Kind<Names, Schema, Subresources, Columns>) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${names.plural}.${of.group}`,
      annotations: { 'helm.sh/resource-policy': 'keep', [schemaRevisionAnnotation]: String(schemaRevision) },
    },
    spec: {
      group: of.group,
      scope: 'Namespaced',
      names,
      versions: [
        {
          name: of.version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description,
              required: ['spec'],
              properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, ...properties },
              ...(rules && { 'x-kubernetes-validations': rules }),
            },
          },
          subresources,
          additionalPrinterColumns: columns,
        },
      ],
    },
  }
}

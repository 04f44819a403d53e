import { type Labels, labelKeyProblem, labelOf, labelValueProblem, matchesSelector } from '../cluster/labels.js'
import type { LabelSelectorRequirement, NodeSelector, NodeSelectorTerm, PodSpec } from '../cluster/objects.js'

/**
 * Node selectors as component-helpers/scheduling/corev1/nodeaffinity matches them: terms are ORed, a term without expressions
 * matches nothing, a term with an expression that does not parse matches nothing.
 */

const operators = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!', Gt: 'gt', Lt: 'lt' } as const

function expressionMatches(
  { key, operator, values = [] }: LabelSelectorRequirement,
  labels: Labels | undefined,
): boolean | null {
  if (!Object.hasOwn(operators, operator) || labelKeyProblem(key) !== null) return null
  const op = operators[operator as keyof typeof operators]
  const wanted =
    op === 'in' || op === 'notin'
      ? values.length > 0
      : op === 'gt' || op === 'lt'
        ? values.length === 1
        : values.length === 0
  if (!wanted || values.some((value) => labelValueProblem(value) !== null)) return null
  if ((op === 'gt' || op === 'lt') && !/^[+-]?\d+$/.test(values[0] ?? '')) return null
  return matchesSelector([{ key, operator: op, values }], labels)
}

function fieldMatches({ key, operator, values = [] }: LabelSelectorRequirement, nodeName: string): boolean | null {
  if (values.length !== 1 || (operator !== 'In' && operator !== 'NotIn')) return null
  // Only metadata.name is a field here; any other has no value on any node.
  const same = (key === 'metadata.name' ? nodeName : '') === values[0]
  return operator === 'In' ? same : !same
}

function termMatches(term: NodeSelectorTerm, labels: Labels | undefined, nodeName: string | null): boolean {
  const expressions = term.matchExpressions ?? []
  const fields = term.matchFields ?? []
  if (expressions.length === 0 && fields.length === 0) return false
  const results = [
    ...expressions.map((expression) => expressionMatches(expression, labels)),
    // Without a name there are no fields, and the fields' part of a term is passed over.
    ...fields.map((field) =>
      nodeName === null ? (fieldMatches(field, '') === null ? null : true) : fieldMatches(field, nodeName),
    ),
  ]
  return results.every((result) => result === true)
}

/**
 * Whether the node is selected. `nodeName` null: match by labels alone, which is how a volume's node affinity is matched
 * (component-helpers/storage/volume CheckNodeAffinity gives no name).
 */
export function nodeSelectorMatches(
  selector: NodeSelector,
  labels: Labels | undefined,
  nodeName: string | null,
): boolean {
  return (selector.nodeSelectorTerms ?? []).some((term) => termMatches(term, labels, nodeName))
}

/** The pod's nodeSelector and required node affinity (nodeaffinity.GetRequiredNodeAffinity). */
export function podSelectsNode(spec: PodSpec, labels: Labels | undefined, nodeName: string): boolean {
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (labelOf(labels, key) !== value) return false
  }
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required === undefined || required === null || nodeSelectorMatches(required, labels, nodeName)
}

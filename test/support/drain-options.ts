import type { DrainOptions } from '../../src/drain/plan.js'

/** A drain of these nodes as `drain-check NODE...` without any flag asks for it, but for what `rest` says. */
export function drainOptions(nodes: readonly string[], rest: Partial<DrainOptions> = {}): DrainOptions {
  return {
    nodes,
    nodeSelectorText: null,
    podSelector: null,
    podSelectorText: null,
    pods: [],
    cordonOnly: false,
    accept: [],
    connection: [],
    ...rest,
  }
}

/** … asked for one pod of a node, `key` being NAMESPACE/NAME. */
export function drainOptionsOfPod(node: string, key: string): DrainOptions {
  const [namespace = '', name = ''] = key.split('/')
  return drainOptions([node], { pods: [{ namespace, name }] })
}

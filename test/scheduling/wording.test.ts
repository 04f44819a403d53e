import { describe, expect, it } from 'vitest'
import { rulesOf, schedulerVersion } from '../../src/scheduling/wording.js'

describe('the version whose rules apply', () => {
  it.each([
    ['v1.34.4', 34, false],
    ['v1.31.2+k3s1', 31, false],
    ['1.33.0-eks-1234', 33, false],
    ['v1.37.2', 37, false],
    ['v1.38.0', 37, true],
    ['v2.0.0', 37, true],
    ['v1.20.4', 29, false],
    ['nonsense', 37, false],
    [null, 37, false],
  ])('%s', (said, minor, newerThanKnown) => {
    expect(schedulerVersion(said)).toMatchObject({ minor, newerThanKnown })
  })
})

describe('what differs', () => {
  const from = (rule: keyof ReturnType<typeof rulesOf>) =>
    [29, 30, 31, 32, 33, 34, 35, 36, 37].filter((minor) => rulesOf(schedulerVersion(`v1.${minor}.0`))[rule] === true)
  it.each<[keyof ReturnType<typeof rulesOf>, number[]]>([
    ['namesTaint', [29, 30, 31, 32, 33]],
    ['unresolvableResources', [34, 35, 36, 37]],
    ['dynamicResources', [34, 35, 36, 37]],
    ['saysNoNewClaims', [34, 35, 36]],
    ['namesPlacement', [37]],
    ['saysLeftOut', [32, 33, 34, 35, 36, 37]],
    ['sidecarPorts', [33, 34, 35, 36, 37]],
    ['podLevelResources', [34, 35, 36, 37]],
    ['statusResources', [33, 34, 35, 36, 37]],
    ['statusPodLevelResources', [36, 37]],
    ['asksSelectorWithoutLabels', [34, 35, 36]],
    ['declaredFeatures', [36, 37]],
    ['countsAttachments', [32, 33, 34, 35, 36, 37]],
    ['requiresDriver', [37]],
    ['topologyLabelsOnPods', [35, 36, 37]],
  ])('%s holds for 1.%j', (rule, minors) => {
    expect(from(rule)).toEqual(minors)
  })

  it.each([
    ['v1.32.0', 'node(s) had volume node affinity conflict'],
    ['v1.33.0', "node(s) didn't match PersistentVolume's node affinity"],
  ])('%s: %s', (version, words) => {
    expect(rulesOf(schedulerVersion(version)).nodeConflict).toBe(words)
  })

  it.each([
    ['v1.33.0', 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'],
    [
      'v1.34.0',
      'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
    ],
  ])('%s: %s', (version, words) => {
    expect(rulesOf(schedulerVersion(version)).readWriteOncePodInUse).toBe(words)
  })
})

SELECT
  s_acctbal,
  s_name,
  n_name,
  p_partkey,
  p_mfgr,
  s_address,
  s_phone,
  s_comment
FROM part
JOIN partsupp ON ps_partkey = p_partkey
JOIN supplier ON s_suppkey = ps_suppkey
JOIN nation ON n_nationkey = s_nationkey
JOIN region ON r_regionkey = n_regionkey
WHERE p_size = 15
  AND p_type LIKE '%BRASS'
  AND r_name = 'EUROPE'
  AND ps_supplycost = (
    SELECT MIN(offer.ps_supplycost)
    FROM partsupp AS offer
    JOIN supplier AS seller ON seller.s_suppkey = offer.ps_suppkey
    JOIN nation AS home ON home.n_nationkey = seller.s_nationkey
    JOIN region AS area ON area.r_regionkey = home.n_regionkey
    WHERE offer.ps_partkey = part.p_partkey
      AND area.r_name = 'EUROPE'
  )
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100

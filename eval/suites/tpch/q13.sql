WITH orders_per_customer AS (
  SELECT
    c_custkey,
    COUNT(o_orderkey) AS c_count
  FROM customer
  LEFT JOIN orders
    ON o_custkey = c_custkey
    AND o_comment NOT LIKE '%special%requests%'
  GROUP BY c_custkey
)
SELECT
  c_count,
  COUNT(*) AS custdist
FROM orders_per_customer
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC

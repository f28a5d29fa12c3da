WITH sales AS (
  SELECT
    EXTRACT(YEAR FROM o_orderdate) AS o_year,
    l_extendedprice * (1 - l_discount) AS volume,
    supplier_nation.n_name AS supp_nation
  FROM part
  JOIN lineitem ON l_partkey = p_partkey
  JOIN supplier ON s_suppkey = l_suppkey
  JOIN nation AS supplier_nation ON supplier_nation.n_nationkey = s_nationkey
  JOIN orders ON o_orderkey = l_orderkey
  JOIN customer ON c_custkey = o_custkey
  JOIN nation AS customer_nation ON customer_nation.n_nationkey = c_nationkey
  JOIN region ON r_regionkey = customer_nation.n_regionkey
  WHERE p_type = 'ECONOMY ANODIZED STEEL'
    AND r_name = 'AMERICA'
    AND o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'
)
SELECT
  o_year,
  SUM(CASE WHEN supp_nation = 'BRAZIL' THEN volume ELSE 0 END) / SUM(volume) AS mkt_share
FROM sales
GROUP BY o_year
ORDER BY o_year
